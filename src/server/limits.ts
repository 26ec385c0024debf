// Every bound of the server, in one place. Each is checked before bytes are kept or a row is written.

export const serverLimits = {
  /** A request body, over REST and MCP. */
  maxBodyBytes: 2 * 1024 * 1024,
  /** How long a body may take to arrive. */
  bodyTimeoutMs: 10_000,
  maxJsonDepth: 64,
  maxBearerChars: 512,
  /** Seconds a silent connection is kept (Bun works in steps of four). */
  idleTimeoutSeconds: 60,
  maxRequestsInFlight: 2048,
  maxRequestsInFlightPerPrincipal: 1024,
  maxLongPolls: 768,
  /** Requests a second of one principal, and the burst it may save up. */
  requestsPerSecond: 20_000,
  requestBurst: 40_000,
  /** Wrong bearers a second, all callers together. */
  refusedBearersPerSecond: 200,
  /** One MCP dispatch. */
  dispatchTimeoutMs: 150_000,
  stopGraceMs: 1_500,
  /** Databases up to this size are checked page by page at each start. */
  checkedAtStartBytes: 16 * 1024 * 1024,
  /** How long a commit waits for more writers at most. */
  maxCommitWaitMs: 5,
  maxMcpSessionIdBytes: 256,
  /** How often the tokens behind open Runner sockets are looked at; another process may have ended one. */
  tokenLookMs: 1_000,

  maxUsers: 4096,
  maxTokens: 16_384,
  maxTokenNameChars: 128,
  tokenPrefixChars: 16,

  maxReadItems: 8,
  maxReadLines: 2000,
  maxReadRangeBytes: 192 * 1024,
  maxReadAnswerBytes: 256 * 1024,
  parallelReads: 4,
  readTimeoutMs: 30_000,
  maxPathChars: 4096,
  maxReceiptsListed: 1000,

  maxSessions: 65_536,
  maxInstructionChars: 4000,
  maxMessageChars: 8000,
  maxTags: 16,
  maxTagChars: 64,
  maxMessagesPerSession: 4096,
  maxEventsPerSession: 4096,
  sessionPage: 20,
  maxTitleChars: 240,

  observationsPerSession: 256,
  observationsTotal: 65_536,
  maxObservationsPerSession: 65_536,

  briefBytes: 8 * 1024,
  acceptanceBytes: 4 * 1024,

  maxGoals: 4096,
  goalPage: 100,
  maxGoalConditions: 64,
  maxGoalSteps: 64,
  maxCorrelations: 64,
  maxIdempotencyKeyChars: 128,

  maxAgents: 4096,
  maxAgentTasks: 65_536,
  maxTaskResultBytes: 8192,
  maxTaskReasonBytes: 4096,

  maxMemories: 4096,
  maxMemoryKeyChars: 128,
  maxMemoryBytes: 16 * 1024,
  maxSkillBytes: 64 * 1024,
  memoryPage: 50,
  writeTimeoutMs: 30_000,

  consoleProjects: 1000,
  consoleSessions: 100,
  consoleRuns: 200,
} as const;
