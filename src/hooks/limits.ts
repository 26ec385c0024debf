// The numbers of the hooks room. Each is checked before the bytes are kept or the request is sent.

export const hookLimits = {
  /** Private inputs, hook payloads, outbox records, snapshots and answers. */
  maxInputBytes: 131_072,
  /** A payload over the limit is read on and thrown away up to here. */
  maxDiscardBytes: 64 * 1024 * 1024,
  maxDiscardMs: 2_000,
  /** A host that never closes the input is not waited for any longer. */
  inputDeadlineMs: 10_000,
  /** Counted before a save. */
  maxPending: 256,
  /** Never passed, however many save at once. */
  maxPendingHard: 512,
  drainBudgetMs: 15_000,
  sendTimeoutMs: 5_000,
  /** One deadline for all requests of a recovery or a handoff read. */
  readDeadlineMs: 6_000,
  maxToolUseIdChars: 256,
  maxLedgerBytes: 262_144,
  maxBindings: 64,
  maxEntryRoots: 8,
  maxConversationIdChars: 256,
  maxSnapshots: 1_024,
  maxContextChars: 24_000,
  inventoryRows: 100,
  maxAcceptanceBytes: 4_096,
  maxReasonCodes: 16,
  maxEvidenceRefs: 16,
  /** A candidate as it is stored: the server's limit of a message. */
  maxProposalChars: 8_000,
} as const;
