// The server's side of RFC 6455: masked text only, no extensions, frame and message bounded apart. Limits are
// checked on the length field, before a payload byte is kept. A frame that arrives whole is read where it lies; only
// what is cut by the end of a chunk is copied, into one buffer that grows by doubling.
import { gatewayLimits } from "./limits.ts";

export interface FrameEvents {
  text(message: string): void;
  ping(payload: Uint8Array): void;
  pong(): void;
  close(code: number): void;
  /** The peer broke a rule: close with this code, then read nothing more. */
  fail(code: number): void;
}

export interface FrameLimits {
  readonly maxFrameBytes: number;
  readonly maxMessageBytes: number;
}

const nothing = Buffer.alloc(0);

export class FrameReader {
  readonly #events: FrameEvents;
  readonly #limits: FrameLimits;
  readonly #spend: (frameBytes: number) => boolean;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** Bytes that came and were not read yet: `#rest` from `#from` to `#to`. */
  #rest: Buffer = nothing;
  #from = 0;
  #to = 0;
  #message: Buffer = nothing;
  #messageBytes = 0;
  #fragments = 0;
  #inMessage = false;
  #stopped = false;
  #done = false;

  /** `spend` is told the size of each frame; false stops the reading until `goOn`. */
  constructor(
    events: FrameEvents,
    limits: FrameLimits = gatewayLimits,
    spend: (frameBytes: number) => boolean = () => true,
  ) {
    this.#events = events;
    this.#limits = limits;
    this.#spend = spend;
  }

  /** True while frames may lie ready that it was not allowed to read. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Reads nothing of what comes until `goOn`. */
  stop(): void {
    if (!this.#done) this.#stopped = true;
  }

  /** Takes the chunk over: its bytes are unmasked in place. */
  push(chunk: Buffer): void {
    if (this.#done || chunk.length === 0) return;
    const kept = this.#to - this.#from;
    if (kept === 0) {
      this.#rest = chunk;
    } else {
      if (this.#from > 0) this.#rest.copyWithin(0, this.#from, this.#to);
      this.#rest = appended(this.#rest, kept, chunk);
    }
    this.#from = 0;
    this.#to = kept + chunk.length;
    if (!this.#stopped) this.goOn();
  }

  /** Reads the whole frames that lie ready, as many as it may. */
  goOn(): void {
    this.#stopped = false;
    while (!this.#done && !this.#stopped && this.#from < this.#to) {
      const next = this.#frame(this.#rest, this.#from, this.#to);
      if (next === this.#from) break;
      const paid = this.#spend(next - this.#from);
      this.#from = next;
      this.#stopped = !paid && next < this.#to && !this.#done;
    }
    if (!this.#done && !this.#stopped) this.#keep();
  }

  /** Keeps the bytes of an unfinished frame, in a buffer of their own size; that of finished ones is let go. */
  #keep(): void {
    const kept = this.#to - this.#from;
    if (kept === 0) this.#rest = nothing;
    else if (this.#from > 0) this.#rest = Buffer.from(this.#rest.subarray(this.#from, this.#to));
    this.#from = 0;
    this.#to = kept;
  }

  #fail(code: number): undefined {
    this.#end();
    this.#events.fail(code);
  }

  #end(): void {
    this.#done = true;
    this.#stopped = false;
    this.#rest = nothing;
    this.#message = nothing;
  }

  /** Reads the one frame that begins at `at`; gives the place after it, or `at` while it is not whole. */
  #frame(bytes: Buffer, at: number, end: number): number {
    const kept = end - at;
    if (kept < 2) return at;
    const first = bytes[at]!;
    const second = bytes[at + 1]!;
    const opcode = first & 15;
    const fault = this.#faultOf(first, second);
    if (fault !== 0) return this.#failAt(fault, at);
    const short = second & 127;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (kept < head) return at;
    const length = lengthOf(bytes, at, short);
    if (head > 2 && length < (head === 4 ? 126 : 65536)) return this.#failAt(1002, at); // not the shortest form
    if (opcode < 8 && this.#overLimit(length)) return this.#failAt(1009, at);
    const from = at + head + 4;
    const to = from + length;
    if (to > end) return at;
    const ascii = unmask(bytes, from, to) < 0x80;
    const last = (first & 0x80) !== 0;
    // The usual message: whole, and of bytes that are characters. Nothing has to be looked at twice for it.
    if (opcode === 1 && last && ascii) this.#events.text(bytes.toString("latin1", from, to));
    else if (opcode >= 8) this.#control(opcode, bytes.subarray(from, to));
    else this.#data(bytes.subarray(from, to), last);
    return to;
  }

  #failAt(code: number, at: number): number {
    this.#fail(code);
    return at;
  }

  #faultOf(first: number, second: number): number {
    const opcode = first & 15;
    if ((first & 0x70) !== 0 || (second & 0x80) === 0) return 1002;
    if (opcode >= 8) return opcode > 10 || (first & 0x80) === 0 || (second & 127) > 125 ? 1002 : 0;
    if (opcode > 2) return 1002;
    if (opcode === 2) return 1003;
    return (opcode === 0) === this.#inMessage ? 0 : 1002;
  }

  #overLimit(length: number): boolean {
    return length > this.#limits.maxFrameBytes || this.#messageBytes + length > this.#limits.maxMessageBytes;
  }

  #control(opcode: number, payload: Uint8Array): void {
    if (opcode === 9) this.#events.ping(payload);
    else if (opcode === 10) this.#events.pong();
    else this.#close(payload);
  }

  #close(payload: Uint8Array): undefined {
    if (payload.length === 1) return this.#fail(1002);
    const code = payload.length === 0 ? 1000 : payload[0]! * 256 + payload[1]!;
    if (!closeCodeAllowed(code)) return this.#fail(1002);
    if (this.#decode(payload.subarray(2)) === null) return this.#fail(1007);
    this.#end();
    this.#events.close(code);
  }

  #data(payload: Uint8Array, final: boolean): undefined {
    if (final && !this.#inMessage) return this.#emit(payload);
    this.#inMessage = true;
    if (++this.#fragments > gatewayLimits.maxFragments) return this.#fail(1009);
    if (this.#messageBytes + payload.length > 0)
      this.#message = appended(this.#message, this.#messageBytes, payload, this.#limits.maxMessageBytes);
    this.#messageBytes += payload.length;
    if (!final) return;
    const whole = this.#message.subarray(0, this.#messageBytes);
    this.#message = nothing;
    this.#messageBytes = 0;
    this.#fragments = 0;
    this.#inMessage = false;
    this.#emit(whole);
  }

  #emit(bytes: Uint8Array): undefined {
    const text = this.#decode(bytes);
    if (text === null) this.#fail(1007);
    else this.#events.text(text);
  }

  #decode(bytes: Uint8Array): string | null {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return null; // not UTF-8
    }
  }
}

/** `kept` bytes of `buffer` and then `more`, in the same buffer where there is room. */
function appended(buffer: Buffer, kept: number, more: Uint8Array, most = Number.POSITIVE_INFINITY): Buffer {
  const needed = kept + more.length;
  let room = buffer;
  if (needed > buffer.length) {
    room = Buffer.allocUnsafeSlow(Math.min(Math.max(needed, buffer.length * 2, 4096), most));
    buffer.copy(room, 0, 0, kept);
  }
  room.set(more, kept);
  return room;
}

function lengthOf(bytes: Buffer, at: number, short: number): number {
  if (short < 126) return short;
  if (short === 126) return bytes.readUInt16BE(at + 2);
  return bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
}

/** Unmasks the payload from `from` to `to`, whose key lies in the four bytes before it; gives all its bits, or-ed. */
function unmask(bytes: Buffer, from: number, to: number): number {
  const a = bytes[from - 4]!;
  const b = bytes[from - 3]!;
  const c = bytes[from - 2]!;
  const d = bytes[from - 1]!;
  let bits = 0;
  let i = from;
  for (const whole = to - ((to - from) & 3); i < whole; i += 4) {
    bits |= bytes[i]! ^= a;
    bits |= bytes[i + 1]! ^= b;
    bits |= bytes[i + 2]! ^= c;
    bits |= bytes[i + 3]! ^= d;
  }
  if (i < to) bits |= bytes[i++]! ^= a;
  if (i < to) bits |= bytes[i++]! ^= b;
  if (i < to) bits |= bytes[i++]! ^= c;
  return bits;
}

function closeCodeAllowed(code: number): boolean {
  return (
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) || (code >= 3000 && code <= 4999)
  );
}
