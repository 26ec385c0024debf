// Chance as an argument: the operating system's generator, or a test's own bytes.

/** Gives `n` unpredictable bytes. */
export type RandomBytes = (n: number) => Uint8Array;

export const systemRandom: RandomBytes = (n) => crypto.getRandomValues(new Uint8Array(n));
