// A clock that stands still until a test moves it; sleeping moves it at once.
import type { Clock } from "../../src/base/clock.ts";

export interface HandClock extends Clock {
  advance(ms: number): void;
  /** All that was slept through so far. */
  readonly sleptMs: number;
}

export function handClock(options: { readonly wallMs?: number } = {}): HandClock {
  const startWallMs = options.wallMs ?? Date.UTC(2026, 0, 1);
  let nowMs = 0;
  let sleptMs = 0;
  return {
    wallMs: () => startWallMs + nowMs,
    monotonicMs: () => nowMs,
    async sleep(ms) {
      nowMs += ms;
      sleptMs += ms;
    },
    advance(ms) {
      nowMs += ms;
    },
    get sleptMs() {
      return sleptMs;
    },
  };
}
