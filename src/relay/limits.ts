// Every number of the relay. Bytes are checked against them before they are kept.

export const relayLimits = {
  /** One frame with its newline. */
  frameBytes: 2 * 1024 * 1024,
  /** Most that is read at once. A direction never holds more than one frame and this. */
  readBytes: 256 * 1024,
  /** The audit file as a whole; the relay stops noting before it. */
  auditBytes: 1024 * 1024,
  /** Kept free at the end of the file for the last two records. */
  auditReserveBytes: 4_096,
  /** How long stderr may still speak once the adapter has ended. */
  stderrDrainMs: 2_000,
  /** How long a pipe that something else keeps open may stay silent once the adapter has ended. */
  quietPipeMs: 2_000,
  /** How long the relay waits for bytes before it looks after its timers and signals. */
  lookUpMs: 500,
  /** How long it moves bytes without a pause before it does. */
  busyMs: 50,
  /** How long an adapter that the relay itself ends has for SIGTERM. */
  terminateMs: 5_000,
  /** Longest version that is kept as text. */
  versionChars: 40,
} as const;
