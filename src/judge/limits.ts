// Numbers the judges hold to.
export const judgeLimits = {
  /** Events of the consumer's stream that are kept as facts. */
  consumerFrames: 4096,
  /** Files of one tool call that are kept as facts. */
  readItems: 64,
  /** Characters of an identifier taken over from a foreign event. */
  wordChars: 100,
} as const;
