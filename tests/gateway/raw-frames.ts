// A WebSocket client on a raw socket, for tests that need masks, bytes and pauses of their own.
import { connect, type Socket } from "node:net";
import { holdsWithin } from "../../src/base/clock.ts";
import { frame } from "../../src/gateway/frame-writer.ts";
import { upgradeHead } from "./gateway-fixture.ts";

/** One client frame, masked; `first` is the whole first byte. */
export function masked(first: number, payload: Uint8Array): Buffer {
  const plain = frame(first & 15, payload);
  const head = plain.length - payload.length;
  const mask = [1, 2, 3, 4];
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

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.ended = true;
    });
    this.socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Sends the upgrade, with `rest` in the same write, and waits for the 101. */
  static async upgraded(facts: { port: number; bearer: string }, rest: Buffer = Buffer.alloc(0)): Promise<RawClient> {
    const one = new RawClient(facts.port);
    const head = upgradeHead({ host: `127.0.0.1:${facts.port}`, bearer: facts.bearer });
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
