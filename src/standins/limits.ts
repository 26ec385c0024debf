// The numbers of the stand-ins, each named once.
export const standinLimits = {
  /** The prompt read from stdin. */
  maxPromptBytes: 131_072,
  /** One answer of the MCP endpoint. */
  maxAnswerBytes: 2 * 1024 * 1024,
  requestTimeoutMs: 30_000,
  /** One ACP frame that the agent reads. */
  maxFrameBytes: 2 * 1024 * 1024,
  /** The agent's own test run. */
  testRunMs: 30_000,
  maxTestOutputBytes: 1024 * 1024,
  /** Shown configurations that surely fill the relay's file of 1 MiB. */
  floodFrames: 6_000,
  /** Messages of two events each: more than a judge keeps. */
  manyMessages: 2_100,
  /** How long a gated step waits for its file before it goes on without it. */
  gateMs: 60_000,
  /** One line of the log of a program behind a stand-in. */
  maxLogLineBytes: 65_536,
  /** One frame of the runner link. */
  maxLinkFrameBytes: 8 * 1024 * 1024,
  /** How long the server behind a stand-in may take until it listens. */
  innerReadyMs: 30_000,
  /** The runner's configuration that a stand-in rewrites. */
  maxConfigBytes: 131_072,
  /** A scenario file. */
  maxScenarioBytes: 1024 * 1024,
  /** One request body of the model endpoint. */
  maxModelRequestBytes: 16 * 1024 * 1024,
  /** One message of the app-server, either way. */
  maxAppServerMessageBytes: 16 * 1024 * 1024,
} as const;
