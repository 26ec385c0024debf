// What the runner refuses before it runs, and how a run can end without an answer; one sentence each.

export const runnerCodes = {
  runner_config_invalid: "The runner's configuration file is not valid.",
  runner_config_credential_mapped: "A control-plane credential may not be mapped into an agent's environment.",
  runner_registry_unreadable: "The project registry folder could not be read.",
  runner_state_unreadable: "The folder of recorded runs could not be read or does not look like one.",
  runner_record_invalid: "A recorded run is missing or malformed.",
} as const;

export type RunnerCode = keyof typeof runnerCodes;

/** How a run ends: codes of its record, on the wire and on the console. None of them says what an agent wrote. */
export const runCodes = {
  coding_agent_spawn_failed: "The agent's program could not be started: check its path in the runner's configuration.",
  coding_agent_setup_failed: "The run ended in its set-up by a fault of the runner; nothing was prompted.",
  coding_agent_setup_timeout: "The agent did not get ready in time; nothing was prompted.",
  coding_agent_initialize_failed: "The agent answered `initialize` with an error or with nothing of use.",
  coding_agent_initialize_write_failed: "The agent stopped reading before `initialize` had left.",
  coding_agent_protocol_version_unsupported: "The agent speaks another version of the protocol than 1.",
  coding_agent_session_new_failed: "The agent refused `session/new`, or ended while it was asked.",
  coding_agent_session_new_write_failed: "The agent stopped reading before `session/new` had left.",
  coding_agent_session_new_invalid: "The agent's answer to `session/new` names no session or has malformed options.",
  coding_agent_config_failed: "The agent refused to set an option that was wished for.",
  coding_agent_config_write_failed: "The agent stopped reading before a wished option had left.",
  coding_agent_config_invalid: "A wished option is not among those the agent offers, or not with that value.",
  coding_agent_config_invalid_response: "The agent's answer to setting a wished option shows no options.",
  coding_agent_config_not_applied: "The agent took a wished option and does not show it.",
  coding_agent_config_not_allowed: "A wished option is not on the runner's list of options that may be set.",
  coding_agent_forced_config_failed: "The agent refused to set an option that the runner forces.",
  coding_agent_forced_config_write_failed: "The agent stopped reading before a forced option had left.",
  coding_agent_forced_config_not_advertised: "The agent does not offer an option that the runner forces.",
  coding_agent_forced_config_invalid: "The agent offers a forced option, but not with the forced value.",
  coding_agent_forced_config_invalid_response: "The agent's answer to setting a forced option shows no options.",
  coding_agent_forced_config_not_applied: "The agent took a forced option and does not show it.",
  coding_agent_forced_config_conflict: "The start wishes another value than the runner forces.",
  coding_agent_dispatch_barrier_failed: "The record before the prompt could not be written, so nothing was prompted.",
  run_stopped: "The run was stopped in its set-up; nothing was prompted.",
  coding_agent_prompt_write_uncertain: "The prompt may have left only in part; whether the agent works is not known.",
  coding_agent_process_exited: "The agent's process ended before it answered the prompt.",
  coding_agent_transport_lost: "The agent's output broke off, or held what is no frame of the protocol.",
  coding_agent_permission_invalid: "The agent asked for a permission in a form nobody could answer.",
  coding_agent_permission_response_uncertain: "The answer to a permission may not have reached the agent.",
  coding_agent_cancel_write_uncertain: "The wish to cancel may not have reached the agent.",
  coding_agent_cancel_terminal_missing: "The agent did not answer its prompt in time after it was cancelled.",
  coding_agent_terminal_persistence_uncertain: "The end of the run could not be recorded.",
  prompt_error: "The agent answered the prompt with an error.",
  invalid_prompt_response: "The agent's answer to the prompt is not one.",
  unknown_stop_reason: "The agent stopped for a reason the protocol does not have.",
  max_tokens: "The agent stopped at its bound of tokens.",
  max_turn_requests: "The agent stopped at its bound of requests in one turn.",
  refusal: "The agent refused to go on.",
  runner_restart_not_started: "The runner was started anew before this run had prompted anything.",
  runner_restart_uncertain: "The runner was started anew while this run may have been at work.",
} as const;

export type RunCode = keyof typeof runCodes;

/** The steps of a set-up that ask the agent something. */
export type SetupStage =
  | "coding_agent_initialize"
  | "coding_agent_session_new"
  | "coding_agent_config"
  | "coding_agent_forced_config";

/** Why a start, a look or a cancel was refused; nothing was done unless the answer says that it is not known. */
export const runRefusalCodes = {
  invalid_coding_agent_request: "The request is not in the form the runner takes.",
  unknown_coding_agent_run: "The runner knows no run of this id.",
  invalid_coding_agent_observation_cursor: "The place to go on reading from is not one of this run.",
  coding_agent_stopping: "The runner is stopping and starts nothing.",
  idempotency_conflict: "The id of the run was used for another intent.",
  coding_agent_provider_unavailable: "The runner has no agent of this id.",
  stale_coding_agent_provider: "The agent was configured anew since the caller looked.",
  stale_coding_agent_project: "The project was registered anew, moved or disabled since the caller looked.",
  coding_agent_capacity_full: "As many runs are at work as the runner allows.",
  coding_agent_environment_unavailable: "A variable that the agent's configuration asks for is not set at the runner.",
  coding_agent_durable_state_unavailable:
    "The runner's records could not be read; whether this run exists is not known.",
  coding_agent_admission_persist_failed: "The start could not be recorded, so nothing was started.",
} as const;

export type RunRefusalCode = keyof typeof runRefusalCodes;
