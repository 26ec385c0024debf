// A WebSocket client on a raw socket, for tests that need masks, bytes and pauses of their own.
import { connect, type Socket } from "node:net";
import { holdsWithin } from "../../src/base/clock.ts";
import { frame } from "../../src/gateway/frame-writer.ts";
import { upgradeHead } from "./gateway-fixture.ts";

/** One client frame, masked; `first` is the whole first byte. */
export function masked(first: number, payload: Uint8Array, mask: readonly number[] = [1, 2, 3, 4]): Buffer {
  const plain = frame(first & 15, payload);
  const head = plain.length - payload.length;
  plain[0] = first;
  plain[1]! |= 0x80;
  return Buffer.concat([plain.subarray(0, head), Buffer.from(mask), payload.map((byte, i) => byte ^ mask[i & 3]!)]);
}

export function maskedText(message: unknown): Buffer {
  return masked(0x81, Buffer.from(typeof message === "string" ? message : JSON.stringify(message)));
}

export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

export class RawClient {
  readonly socket: Socket;
  readonly frames: ServerFrame[] = [];
  ended = false;
  #bytes: Buffer = Buffer.alloc(0);
  #open = false;

  /** A port of 127.0.0.1, or a socket's path. */
  constructor(target: number | string) {
    this.socket = typeof target === "number" ? connect(target, "127.0.0.1") : connect(target);
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.ended = true;
    });
    this.socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Sends the upgrade, with `rest` in the same write, and waits for the 101. */
  static async upgraded(
    facts: { port: number | string; bearer: string },
    rest: Buffer = Buffer.alloc(0),
  ): Promise<RawClient> {
    const one = new RawClient(facts.port);
    const host = typeof facts.port === "number" ? `127.0.0.1:${facts.port}` : "localhost";
    const head = upgradeHead({ host, bearer: facts.bearer });
    one.socket.write(Buffer.concat([Buffer.from(head), rest]));
    if (!(await one.until(() => one.#open))) throw new Error("no 101");
    return one;
  }

  until(test: () => boolean): Promise<boolean> {
    return holdsWithin(test, { withinMs: 30_000, everyMs: 2 });
  }

  texts(): Array<Record<string, unknown>> {
    return this.frames.filter((one) => one.opcode === 1).map((one) => JSON.parse(one.payload.toString("utf8")));
  }

  /** The code of the server's close frame, or undefined. */
  closeCode(): number | undefined {
    return this.frames.find((one) => one.opcode === 8)?.payload.readUInt16BE(0);
  }

  #read(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (!this.#open) {
      const end = this.#bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.#open = this.#bytes.subarray(0, 12).toString() === "HTTP/1.1 101";
      this.#bytes = this.#bytes.subarray(end + 4);
    }
    for (;;) {
      const short = (this.#bytes[1] ?? 0) & 127;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (this.#bytes.length < head) return;
      const length =
        head === 2 ? short : head === 4 ? this.#bytes.readUInt16BE(2) : Number(this.#bytes.readBigUInt64BE(2));
      if (this.#bytes.length < head + length) return;
      this.frames.push({ opcode: this.#bytes[0]! & 15, payload: this.#bytes.subarray(head, head + length) });
      this.#bytes = this.#bytes.subarray(head + length);
    }
  }
}
