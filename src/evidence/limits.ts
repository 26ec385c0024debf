// Numbers of the evidence room, checked before bytes are kept.
export const evidenceLimits = {
  reportBytes: 32 * 1024 * 1024,
  auditBytes: 1024 * 1024,
  diffShownBytes: 256 * 1024,
  walkedFiles: 20_000,
  walkedDepth: 32,
  mergedReports: 1000,
} as const;
