// What a client has not read yet, bounded in bytes. The rule for slow readers: a client is cut only when more than
// the whole bound waits for it; until then its own requests pause, and nobody else waits for it.
import type { Socket } from "node:net";

export interface SendQueueOptions {
  readonly maxQueueBytes: number;
  /** The bound was passed. */
  readonly onOverflow: () => void;
}

export class SendQueue {
  readonly #socket: Socket;
  readonly #options: SendQueueOptions;
  #paused = false;

  constructor(socket: Socket, options: SendQueueOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on("drain", () => {
      if (!this.#paused) return;
      this.#paused = false;
      socket.resume();
    });
  }

  /** False when the frame was not taken, since it would pass the bound. */
  send(bytes: Buffer): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#socket.writableLength + bytes.length > this.#options.maxQueueBytes) {
      this.#options.onOverflow();
      return false;
    }
    if (!this.#socket.write(bytes) && !this.#paused) {
      this.#paused = true;
      this.#socket.pause();
    }
    return true;
  }
}
