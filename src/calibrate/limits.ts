// Numbers of the calibration room.
export const calibrateLimits = {
  /** Subjects that run at the same moment. */
  sideBySide: 2,
  /** Longest life of one subject's process; far above what the small inner limits let it take. */
  subjectMs: 180_000,
  /** What one subject's process may print, stdout and stderr each. */
  outputBytes: 8 * 1024 * 1024,
  reportBytes: 32 * 1024 * 1024,
  /** How often every honest subject can be repeated in one call. */
  honestTimes: 50,
  /** How often every fault can be repeated in one call. */
  faultTimes: 20,
} as const;
