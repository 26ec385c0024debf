// Time as an argument: whoever waits or stamps takes a Clock, so that a test can move time by hand.

/** Wall time for people and records, monotonic time for deadlines, and a way to wait. */
export interface Clock {
  wallMs(): number;
  monotonicMs(): number;
  sleep(ms: number): Promise<void>;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms) => Bun.sleep(ms),
};

export interface WaitOptions {
  readonly withinMs: number;
  readonly everyMs?: number;
  readonly clock?: Clock;
}

/** Asks until the probe holds; false once the deadline has passed. Asks at least once. */
export async function holdsWithin(probe: () => boolean | Promise<boolean>, options: WaitOptions): Promise<boolean> {
  const { withinMs, everyMs = 50, clock = systemClock } = options;
  const end = clock.monotonicMs() + withinMs;
  while (!(await probe())) {
    const leftMs = end - clock.monotonicMs();
    if (leftMs <= 0) return false;
    await clock.sleep(Math.min(everyMs, leftMs));
  }
  return true;
}
