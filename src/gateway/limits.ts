// Every number the gateway is bounded by. Each is checked before the bytes or the place are taken.
export const gatewayLimits = {
  secretBytes: 32,
  generationBytes: 16,
  maxMessageBytes: 16 * 1024 * 1024,
  maxFrameBytes: 1024 * 1024,
  maxQueueBytes: 32 * 1024 * 1024,
  gatherBytes: 128 * 1024,
  /** Pieces of one message. */
  maxFragments: 65_536,
  maxHandshakeBytes: 64 * 1024,
  handshakeMs: 5000,
  maxConnections: 32,
  /** What one client may send at once, what a frame costs beside its bytes, and what comes back each millisecond. */
  allowanceBytes: 64 * 1024,
  frameCostBytes: 256,
  allowanceBytesPerMs: 4096,
  /** How long a client that sent more is not read while others have work: twice as long each time, up to the most. */
  minRestMs: 500,
  maxRestMs: 2000,
  /** Who kept to its allowance for so long after a rest begins with the shortest one again. */
  forgetRestMs: 2000,
  /** How often a resting client is asked whether it is still there: one that has gone is not waited for. */
  restLookMs: 250,
  /** Somebody who had work within this time is there to be served. */
  activeMs: 100,
  maxHeaders: 100,
  drawAttempts: 3,
  leaseMs: 60_000,
  approvalWaitMs: 120_000,
  lingerMs: 500,
  maxPendingCalls: 256,
  maxPendingBytes: 32 * 1024 * 1024,
  maxPendingApprovals: 256,
  maxSocketPathBytes: 103,
  /** The deepest that the app-server reads. */
  maxJsonDepth: 127,
  maxControlBytes: 64 * 1024,
  controlMs: 10_000,
  probeWaitMs: 8000,
  maxAuditBytes: 16 * 1024 * 1024,
} as const;

/** The numbers an operator or a test may set. */
export interface ConnectionLimits {
  readonly maxMessageBytes: number;
  readonly maxFrameBytes: number;
  readonly maxQueueBytes: number;
  readonly maxHandshakeBytes: number;
  readonly handshakeMs: number;
  readonly maxConnections: number;
}
