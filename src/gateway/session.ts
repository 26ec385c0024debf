// One client's place behind the gateway, and the account its calls are counted on. The account is the client id's and
// outlives a connection, so that coming back does not make a bound anew.
import { Allowance } from "./fair-reading.ts";
import { textFrame } from "./frame-writer.ts";
import { gatewayLimits } from "./limits.ts";
import type { Rights } from "./permissions.ts";

export interface ClientPort {
  readonly clientId: string;
  readonly rights: Rights;
  /** Sends one finished frame. */
  send(bytes: Buffer): void;
  close(code: number): void;
}

export class Account {
  /** Calls by the class of their method. */
  readonly counts: Record<string, number> = {};
  /** What it may send before others are served. */
  readonly allowance = new Allowance();
  #calls = 0;
  #bytes = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number = gatewayLimits.maxPendingBytes) {
    this.#maxBytes = maxBytes;
  }

  count(kind: string): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
  }

  /** False when one more call of `bytes` would pass what may wait for the upstream. */
  take(bytes: number): boolean {
    if (this.#calls >= gatewayLimits.maxPendingCalls || this.#bytes + bytes > this.#maxBytes) return false;
    this.#calls++;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#calls--;
    this.#bytes -= bytes;
  }
}

export class Session {
  readonly port: ClientPort;
  readonly account: Account;
  /** Threads it follows. */
  readonly threads = new Set<string>();
  /** Server requests it was shown and may still answer. */
  readonly waiting = new Set<string>();
  initialized = false;
  attached = false;

  constructor(port: ClientPort, account: Account) {
    this.port = port;
    this.account = account;
  }

  say(text: string): void {
    this.port.send(textFrame(text));
  }
}
