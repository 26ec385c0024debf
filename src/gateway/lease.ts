// One controller a thread. The lease ends with its time to live, its holder's leaving, or its holder's revocation.
import { type Clock, systemClock } from "../base/clock.ts";
import { gatewayLimits } from "./limits.ts";

export class Leases<Holder> {
  readonly #held = new Map<string, { holder: Holder; until: number }>();
  readonly #clock: Clock;
  readonly #leaseMs: number;

  constructor(options: { clock?: Clock; leaseMs?: number } = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#leaseMs = options.leaseMs ?? gatewayLimits.leaseMs;
  }

  /** True when `holder` controls the thread from now on. */
  claim(threadId: string, holder: Holder): boolean {
    const current = this.holderOf(threadId);
    if (current !== undefined && current !== holder) return false;
    this.#held.set(threadId, { holder, until: this.#clock.monotonicMs() + this.#leaseMs });
    return true;
  }

  /** Work that goes on keeps the lease of whoever still holds it. */
  renew(threadId: string): void {
    const holder = this.holderOf(threadId);
    if (holder !== undefined) this.claim(threadId, holder);
  }

  holderOf(threadId: string): Holder | undefined {
    const held = this.#held.get(threadId);
    if (held === undefined) return undefined;
    if (held.until > this.#clock.monotonicMs()) return held.holder;
    this.#held.delete(threadId);
    return undefined;
  }

  release(threadId: string, holder: Holder): void {
    if (this.#held.get(threadId)?.holder === holder) this.#held.delete(threadId);
  }

  releaseAll(holder: Holder): void {
    for (const [threadId, held] of this.#held) if (held.holder === holder) this.#held.delete(threadId);
  }

  clear(): void {
    this.#held.clear();
  }
}
