// What a client has not read yet, bounded in bytes. The rule for slow readers: a client is cut only when more than
// the whole bound waits for it; until then its own requests pause, and nobody else waits for it. Frames of one turn
// of the loop are gathered into one write, forced out early at the gathering limit.
import type { Socket } from "node:net";
import type { ReadGate } from "./fair-reading.ts";
import { gatewayLimits } from "./limits.ts";

/** The part of a socket the queue needs. */
export type QueueSocket = Pick<Socket, "destroyed" | "writableLength" | "write"> & {
  on(event: "drain", act: () => void): unknown;
};

export interface SendQueueOptions {
  readonly maxQueueBytes: number;
  /** Held while the client does not read what it was sent. */
  readonly gate: ReadGate;
  /** The bound was passed. */
  readonly onOverflow: () => void;
}

export class SendQueue {
  readonly #socket: QueueSocket;
  readonly #options: SendQueueOptions;
  /** The first frame of a turn; it is alone most of the time. */
  #first: Buffer | null = null;
  #others: Buffer[] = [];
  #gatheredBytes = 0;
  #corked = false;
  #paused = false;
  readonly #flushSoon = () => this.flush();

  constructor(socket: QueueSocket, options: SendQueueOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on("drain", () => {
      if (!this.#paused) return;
      this.#paused = false;
      options.gate.free(this);
    });
  }

  /** False when the frame was not taken, since it would pass the bound. */
  send(bytes: Buffer): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#socket.writableLength + this.#gatheredBytes + bytes.length > this.#options.maxQueueBytes) {
      this.#options.onOverflow();
      return false;
    }
    if (this.#first !== null) this.#others.push(bytes);
    else {
      this.#first = bytes;
      if (!this.#corked) queueMicrotask(this.#flushSoon);
    }
    this.#gatheredBytes += bytes.length;
    if (this.#gatheredBytes >= gatewayLimits.gatherBytes) this.flush();
    return true;
  }

  /** Until `uncork` nothing leaves but what passes the gathering limit: the caller knows when its turn ends. */
  cork(): void {
    this.#corked = true;
  }

  uncork(): void {
    this.#corked = false;
    this.flush();
  }

  /** Hands what was gathered to the socket; before an end it has to be called. */
  flush(): void {
    const first = this.#first;
    if (first === null) return;
    const bytes = this.#others.length === 0 ? first : Buffer.concat([first, ...this.#others], this.#gatheredBytes);
    this.#first = null;
    if (this.#others.length > 0) this.#others = [];
    this.#gatheredBytes = 0;
    if (this.#socket.destroyed || this.#socket.write(bytes) || this.#paused) return;
    this.#paused = true;
    this.#options.gate.hold(this);
  }
}
