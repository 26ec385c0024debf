// What the runner refuses before it runs, one sentence each. Codes of a run itself are values on the wire.

export const runnerCodes = {
  runner_config_invalid: "The runner's configuration file is not valid.",
  runner_config_credential_mapped: "A control-plane credential may not be mapped into an agent's environment.",
  runner_registry_unreadable: "The project registry folder could not be read.",
  runner_state_unreadable: "The folder of recorded runs could not be read or does not look like one.",
  runner_record_invalid: "A recorded run is missing or malformed.",
} as const;

export type RunnerCode = keyof typeof runnerCodes;
