// How much one caller may ask for at once and per second. A refused request costs nobody else anything.
import { serverLimits } from "./limits.ts";

export interface RateLimits {
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  readonly maxInFlight: number;
  readonly maxInFlightPerPrincipal: number;
  readonly maxLongPolls: number;
}

export const defaultRates: RateLimits = {
  requestsPerSecond: serverLimits.requestsPerSecond,
  requestBurst: serverLimits.requestBurst,
  maxInFlight: serverLimits.maxRequestsInFlight,
  maxInFlightPerPrincipal: serverLimits.maxRequestsInFlightPerPrincipal,
  maxLongPolls: serverLimits.maxLongPolls,
};

interface Bucket {
  tokens: number;
  atMs: number;
  inFlight: number;
}

export class Rates {
  readonly #limits: RateLimits;
  readonly #buckets = new Map<string, Bucket>();
  #inFlight = 0;
  #longPolls = 0;
  #refusedBearers: Bucket = { tokens: serverLimits.refusedBearersPerSecond, atMs: 0, inFlight: 0 };

  constructor(limits: RateLimits = defaultRates) {
    this.#limits = limits;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get longPolls(): number {
    return this.#longPolls;
  }

  /** Takes a place for one request of this caller; call the result when it is answered. */
  enter(owner: string, nowMs: number): (() => void) | "busy" | "too_many" {
    const bucket = this.#bucketOf(owner, nowMs);
    refill(bucket, { nowMs, perSecond: this.#limits.requestsPerSecond, burst: this.#limits.requestBurst });
    if (bucket.tokens < 1 || bucket.inFlight >= this.#limits.maxInFlightPerPrincipal) return "too_many";
    if (this.#inFlight >= this.#limits.maxInFlight) return "busy";
    bucket.tokens -= 1;
    bucket.inFlight += 1;
    this.#inFlight += 1;
    return () => {
      bucket.inFlight -= 1;
      this.#inFlight -= 1;
      if (bucket.inFlight === 0 && this.#buckets.size > 1024) this.#buckets.delete(owner);
    };
  }

  /** A place among the long polls, or null when all are taken. */
  enterLongPoll(): (() => void) | null {
    if (this.#longPolls >= this.#limits.maxLongPolls) return null;
    this.#longPolls += 1;
    let left = false;
    return () => {
      if (!left) this.#longPolls -= 1;
      left = true;
    };
  }

  /** False when wrong bearers come too fast to be answered one by one. */
  mayRefuseBearer(nowMs: number): boolean {
    const perSecond = serverLimits.refusedBearersPerSecond;
    refill(this.#refusedBearers, { nowMs, perSecond, burst: perSecond });
    if (this.#refusedBearers.tokens < 1) return false;
    this.#refusedBearers.tokens -= 1;
    return true;
  }

  #bucketOf(owner: string, nowMs: number): Bucket {
    let bucket = this.#buckets.get(owner);
    if (bucket === undefined) {
      bucket = { tokens: this.#limits.requestBurst, atMs: nowMs, inFlight: 0 };
      this.#buckets.set(owner, bucket);
    }
    return bucket;
  }
}

function refill(
  bucket: Bucket,
  rate: { readonly nowMs: number; readonly perSecond: number; readonly burst: number },
): void {
  const passedMs = Math.max(0, rate.nowMs - bucket.atMs);
  bucket.tokens = Math.min(rate.burst, bucket.tokens + (passedMs * rate.perSecond) / 1000);
  bucket.atMs = rate.nowMs;
}
