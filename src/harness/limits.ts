// Every number of an acceptance run, by name. The inner door takes smaller ones, so that a hanging subject costs seconds.
const mebibyte = 1024 * 1024;

export const harnessLimits = {
  minTimeoutS: 30,
  maxTimeoutS: 900,
  defaultTimeoutS: 300,
  versionProbeMs: 15_000,
  versionChars: 512,
  gitOutputBytes: mebibyte,
  httpBodyBytes: 2 * mebibyte,
  consumerStdoutBytes: 8 * mebibyte,
  consumerStderrBytes: 2 * mebibyte,
  consumerLineBytes: 8 * mebibyte,
  consumerPollMs: 50,
  drainGraceMs: 2_000,
  auditBytes: mebibyte,
  journalRecordBytes: mebibyte,
  serviceLogBytes: 2 * mebibyte,
  testOutputBytes: mebibyte,
  fixedTests: 7,
  probeRanges: 3,
  observeWaitS: 1,
  runnerGoneMs: 1_000,
  faultMs: 20_000,
  faultPollMs: 5,
  recoveryWaitS: 10,
  cancelObserveWaitS: 5,
  readinessPollMs: 50,
  portAttempts: 3,
  deadRunMs: 2_000,
  liveFileBytes: mebibyte,
  liveLeftoverMs: 60_000,
  packageFileBytes: mebibyte,
  minFreeBytes: 16_384,
  scannedFileBytes: 32 * mebibyte,
  scannedFiles: 2_000,
} as const;

/** The waits that calibration may shorten. */
export interface RunLimits {
  readonly consumerDeadlineMs: number;
  readonly observationDeadlineMs: number;
  readonly recoveryExtraMs: number;
  readonly httpTimeoutMs: number;
  readonly gitStepMs: number;
  readonly readinessMs: number;
  readonly testRunMs: number;
  readonly stopTermMs: number;
  readonly stopKillMs: number;
  readonly cancelWaitMs: number;
}

/** The waits of a run with this time-out, as the seed has them. */
export function runLimits(
  timeoutS: number,
  changed: { readonly [K in keyof RunLimits]?: number | undefined } = {},
): RunLimits {
  const pick = (name: keyof RunLimits, own: number) => changed[name] ?? own;
  return {
    consumerDeadlineMs: pick("consumerDeadlineMs", timeoutS * 1000),
    observationDeadlineMs: pick("observationDeadlineMs", timeoutS * 1000),
    recoveryExtraMs: pick("recoveryExtraMs", 30_000),
    httpTimeoutMs: pick("httpTimeoutMs", 45_000),
    gitStepMs: pick("gitStepMs", 15_000),
    readinessMs: pick("readinessMs", 45_000),
    testRunMs: pick("testRunMs", 30_000),
    stopTermMs: pick("stopTermMs", 10_000),
    stopKillMs: pick("stopKillMs", 2_000),
    cancelWaitMs: pick("cancelWaitMs", 20_000),
  };
}
