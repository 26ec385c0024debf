// Keeps one busy client from being everybody's delay. Who sends more than its allowance is not read for a while, as long
// as somebody else is there to be served; a client alone may send what it likes.
import { gatewayLimits } from "./limits.ts";

/** Which clients of a gateway had work lately; shared by all its connections. */
export class Turns {
  #last: object | null = null;
  #lastMs = Number.NEGATIVE_INFINITY;
  #beforeMs = Number.NEGATIVE_INFINITY;

  worked(who: object, nowMs: number): void {
    if (who !== this.#last) {
      this.#beforeMs = this.#lastMs;
      this.#last = who;
    }
    this.#lastMs = nowMs;
  }

  /** True when somebody but `who` had work within the named time. */
  othersThan(who: object, nowMs: number): boolean {
    const otherMs = who === this.#last ? this.#beforeMs : this.#lastMs;
    return nowMs - otherMs < gatewayLimits.activeMs;
  }
}

/**
 * What one client may send before others are served: bytes, and so many more for every frame. It comes back with time.
 * Counted and not timed, since a machine that is busy elsewhere must not make a client look greedy. Who sends too much
 * again and again rests twice as long each time, until it has kept to its allowance for a while.
 */
export class Allowance {
  #left: number = gatewayLimits.allowanceBytes;
  #countedMs: number;
  #lastRestMs = 0;
  #restUntilMs = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#countedMs = now();
  }

  /** Takes a frame off; false when nothing is left, and then the clock has been looked at. */
  spend(frameBytes: number): boolean {
    this.#left -= frameBytes + gatewayLimits.frameCostBytes;
    if (this.#left > 0) return true;
    this.comeBack();
    return this.#left > 0;
  }

  /** What came back since it was last counted. */
  comeBack(): void {
    const nowMs = this.#now();
    const back = (nowMs - this.#countedMs) * gatewayLimits.allowanceBytesPerMs;
    this.#left = Math.min(this.#left + back, gatewayLimits.allowanceBytes);
    this.#countedMs = nowMs;
  }

  /** How long to rest now; 0 while something is left. */
  restMs(): number {
    return this.#left > 0 ? 0 : this.#beginRest();
  }

  /** What is left of a rest under way, for one who comes back on a new connection. */
  restLeftMs(): number {
    return Math.max(0, this.#restUntilMs - this.#now());
  }

  #beginRest(): number {
    const nowMs = this.#now();
    if (nowMs < this.#restUntilMs) return this.#restUntilMs - nowMs;
    const { minRestMs, maxRestMs, forgetRestMs, allowanceBytesPerMs } = gatewayLimits;
    const again = nowMs - this.#restUntilMs < forgetRestMs;
    const due = Math.max(-this.#left / allowanceBytesPerMs, again ? this.#lastRestMs * 2 : minRestMs);
    this.#lastRestMs = Math.min(due, maxRestMs);
    this.#restUntilMs = nowMs + this.#lastRestMs;
    return this.#lastRestMs;
  }

  /** Nobody waited: the debt is no debt. */
  forgive(): void {
    if (this.#left <= 0) this.#left = 1;
    this.#restUntilMs = Number.NEGATIVE_INFINITY;
  }
}

/** The part of a socket the gate needs. */
export type Readable = { pause(): unknown; resume(): unknown };

/** A socket is read while nobody holds it: neither a full send queue nor a rest. */
export class ReadGate {
  readonly #socket: Readable;
  readonly #holders = new Set<object>();

  constructor(socket: Readable) {
    this.#socket = socket;
  }

  hold(holder: object): void {
    this.#holders.add(holder);
    this.#socket.pause();
  }

  free(holder: object): void {
    if (this.#holders.delete(holder) && this.#holders.size === 0) this.#socket.resume();
  }

  /** The end of a connection is read whoever held it. */
  open(): void {
    this.#holders.clear();
    this.#socket.resume();
  }
}
