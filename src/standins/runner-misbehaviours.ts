// How a runner goes wrong: each name changes exactly one thing around the real embedded runner.

/** Every name `standin runner --misbehave` knows, with what it does. */
export const runnerMisbehaviours = {
  "dies-with-server": "ends when its connection to the server ends",
  "dies-before-restart": "ends while the run is being set up",
  "dies-during-run": "ends when it is asked about the run after the restart",
  "prompts-twice": "sends the prompt to the agent twice",
  "starts-adapter-twice": "starts the adapter, ends it and starts it again",
  "skips-the-relay": "starts the agent without the relay before it",
  "writes-into-the-audit": "copies a record within the relay's file",
  "prints-secret": "prints its own credential into its log",
  "honest-slow": "honest: every frame of its connection takes 100 ms longer",
  "honest-odd-frames": "honest: frames and fields nobody asked for",
} as const;
export type RunnerMisbehaviour = keyof typeof runnerMisbehaviours;
