// The server's side of RFC 6455: masked text only, no extensions, frame and message bounded apart. Limits are
// checked on the length field, before a payload byte is kept; a message's fragments are copied into one buffer.
import { gatewayLimits } from "./limits.ts";

export interface FrameEvents {
  text(message: string): void;
  ping(payload: Buffer): void;
  pong(): void;
  close(code: number): void;
  /** The peer broke a rule: close with this code, then read nothing more. */
  fail(code: number): void;
}

export interface FrameLimits {
  readonly maxFrameBytes: number;
  readonly maxMessageBytes: number;
}

export class FrameReader {
  readonly #events: FrameEvents;
  readonly #limits: FrameLimits;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #chunks: Buffer[] = [];
  #kept = 0;
  #message: Buffer = Buffer.alloc(0);
  #messageBytes = 0;
  #inMessage = false;
  #done = false;

  constructor(events: FrameEvents, limits: FrameLimits = gatewayLimits) {
    this.#events = events;
    this.#limits = limits;
  }

  push(chunk: Buffer): void {
    if (this.#done || chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#kept += chunk.length;
    while (!this.#done && this.#step()) {
      // Each step consumes one whole frame.
    }
  }

  #fail(code: number): false {
    this.#done = true;
    this.#chunks = [];
    this.#message = Buffer.alloc(0);
    this.#events.fail(code);
    return false;
  }

  #step(): boolean {
    if (this.#kept < 2) return false;
    const start = this.#peek(Math.min(this.#kept, 14));
    const opcode = start[0]! & 15;
    const final = (start[0]! & 0x80) !== 0;
    const fault = this.#faultOf(start, opcode, final);
    if (fault !== 0) return this.#fail(fault);
    const size = sizeOf(start);
    if (size === null) return false;
    if (size === "not_minimal") return this.#fail(1002);
    if (opcode < 8 && this.#overLimit(size.length)) return this.#fail(1009);
    if (this.#kept < size.head + 4 + size.length) return false;
    const head = this.#take(size.head + 4);
    const payload = this.#take(size.length);
    unmask(payload, head.subarray(size.head));
    return opcode >= 8 ? this.#control(opcode, payload) : this.#data(payload, final);
  }

  #faultOf(start: Buffer, opcode: number, final: boolean): number {
    if ((start[0]! & 0x70) !== 0 || (start[1]! & 0x80) === 0) return 1002;
    if (opcode >= 8) return opcode > 10 || !final || (start[1]! & 127) > 125 ? 1002 : 0;
    if (opcode > 2) return 1002;
    if (opcode === 2) return 1003;
    return (opcode === 0) === this.#inMessage ? 0 : 1002;
  }

  #overLimit(length: number): boolean {
    return length > this.#limits.maxFrameBytes || this.#messageBytes + length > this.#limits.maxMessageBytes;
  }

  #control(opcode: number, payload: Buffer): boolean {
    if (opcode === 9) this.#events.ping(payload);
    else if (opcode === 10) this.#events.pong();
    else return this.#close(payload);
    return true;
  }

  #close(payload: Buffer): boolean {
    if (payload.length === 1) return this.#fail(1002);
    const code = payload.length === 0 ? 1000 : payload.readUInt16BE(0);
    if (!closeCodeAllowed(code)) return this.#fail(1002);
    if (this.#decode(payload.subarray(2)) === null) return this.#fail(1007);
    this.#done = true;
    this.#events.close(code);
    return false;
  }

  #data(payload: Buffer, final: boolean): boolean {
    if (final && !this.#inMessage) return this.#emit(payload);
    this.#inMessage = true;
    this.#append(payload);
    if (!final) return true;
    const whole = this.#message.subarray(0, this.#messageBytes);
    this.#message = Buffer.alloc(0);
    this.#messageBytes = 0;
    this.#inMessage = false;
    return this.#emit(whole);
  }

  #append(payload: Buffer): void {
    const needed = this.#messageBytes + payload.length;
    if (needed > this.#message.length) {
      const grown = Buffer.allocUnsafe(
        Math.min(Math.max(needed, this.#message.length * 2, 4096), this.#limits.maxMessageBytes),
      );
      this.#message.copy(grown, 0, 0, this.#messageBytes);
      this.#message = grown;
    }
    payload.copy(this.#message, this.#messageBytes);
    this.#messageBytes = needed;
  }

  #emit(bytes: Buffer): boolean {
    const text = this.#decode(bytes);
    if (text === null) return this.#fail(1007);
    this.#events.text(text);
    return !this.#done;
  }

  #decode(bytes: Buffer): string | null {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return null; // not UTF-8
    }
  }

  #peek(count: number): Buffer {
    const first = this.#chunks[0]!;
    if (first.length >= count) return first;
    this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!;
  }

  #take(count: number): Buffer {
    if (count === 0) return Buffer.alloc(0); // an empty payload must not touch an empty queue
    this.#kept -= count;
    if (this.#chunks[0]!.length < count) this.#chunks = [Buffer.concat(this.#chunks)];
    const first = this.#chunks[0]!;
    if (first.length === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
    return first.subarray(0, count);
  }
}

function sizeOf(start: Buffer): { head: number; length: number } | null | "not_minimal" {
  const short = start[1]! & 127;
  if (short < 126) return { head: 2, length: short };
  if (short === 126) {
    if (start.length < 4) return null;
    const length = start.readUInt16BE(2);
    return length < 126 ? "not_minimal" : { head: 4, length };
  }
  if (start.length < 10) return null;
  const length = start.readUInt32BE(2) * 2 ** 32 + start.readUInt32BE(6);
  return length < 65536 ? "not_minimal" : { head: 10, length };
}

function unmask(payload: Buffer, mask: Buffer): void {
  const [a, b, c, d] = [mask[0]!, mask[1]!, mask[2]!, mask[3]!];
  const whole = payload.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    payload[i]! ^= a;
    payload[i + 1]! ^= b;
    payload[i + 2]! ^= c;
    payload[i + 3]! ^= d;
  }
  for (let i = whole; i < payload.length; i++) payload[i]! ^= mask[i & 3]!;
}

function closeCodeAllowed(code: number): boolean {
  return (
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) || (code >= 3000 && code <= 4999)
  );
}

/** One unmasked frame of the server. */
export function frame(opcode: number, payload: Uint8Array): Buffer {
  const length = payload.length;
  const head = length < 126 ? 2 : length < 65536 ? 4 : 10;
  const bytes = Buffer.allocUnsafe(head + length);
  bytes[0] = 0x80 | opcode;
  bytes[1] = head === 2 ? length : head === 4 ? 126 : 127;
  if (head === 4) bytes.writeUInt16BE(length, 2);
  if (head === 10) bytes.writeBigUInt64BE(BigInt(length), 2);
  bytes.set(payload, head);
  return bytes;
}

export function textFrame(text: string): Buffer {
  return frame(1, Buffer.from(text, "utf8"));
}

export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(8, payload);
}
