// Pipes and waiting on them without the event loop: one poll(2) for several descriptors, reads and writes that never
// block. For a program whose whole work is to move bytes; while it waits here, nothing else of it runs.

import { FFIType, type Pointer, ptr } from "bun:ffi";
import { openLibc } from "./libc.ts";

const functions = {
  poll: { args: [FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
  pipe2: { args: [FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
  read: { args: [FFIType.i32, FFIType.ptr, FFIType.u64], returns: FFIType.i64_fast },
  write: { args: [FFIType.i32, FFIType.ptr, FFIType.u64], returns: FFIType.i64_fast },
  send: { args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i64_fast },
} as const;
const closeOnExec = 0o2000000;
const sendNoWait = 0x40 | 0x4000; // MSG_DONTWAIT, MSG_NOSIGNAL

/** What poll(2) is asked for and answers. */
export const pollFlags = { readable: 0x1, writable: 0x4, failed: 0x8 | 0x20, hungUp: 0x10 } as const;

/** The kernel's side of a few descriptors. Linux only: the numbers above are its own. */
export class Descriptors {
  readonly #libc: NonNullable<ReturnType<typeof openFunctions>>;

  private constructor(libc: NonNullable<ReturnType<typeof openFunctions>>) {
    this.#libc = libc;
  }

  /** Null where this system cannot do it. */
  static open(): Descriptors | null {
    const libc = process.platform === "linux" ? openFunctions() : null;
    return libc === null ? null : new Descriptors(libc);
  }

  /** A pipe that no program started later inherits by itself; null when there are no descriptors left. */
  pipe(): { readonly reading: number; readonly writing: number } | null {
    const ends = new Int32Array(2);
    if (this.#libc.pipe2(ptr(ends), closeOnExec) !== 0) return null;
    return { reading: ends[0] as number, writing: ends[1] as number };
  }

  /** Bytes read into `window`, 0 at the end, less than 0 when there is nothing now or the source is broken. */
  read(fd: number, window: Window): number {
    return Number(this.#libc.read(fd, window.at, window.bytes));
  }

  /** Bytes taken, less than 0 when there is no room now or nobody reads; the next wait tells which. */
  write(sink: Sink, window: Window): number {
    const { fd } = sink;
    if (sink.isSocket) return Number(this.#libc.send(fd, window.at, window.bytes, sendNoWait));
    return Number(this.#libc.write(fd, window.at, window.bytes));
  }

  /** Waits for one of the watched events; 0 after `timeoutMs`, less than 0 when a signal came. */
  wait(watch: Watch, timeoutMs: number): number {
    return this.#libc.poll(watch.at, watch.slots, timeoutMs);
  }
}

function openFunctions() {
  return openLibc(functions);
}

/** Where to write. A pipe's descriptor must be a non-blocking one; a socket may be any. */
export interface Sink {
  readonly fd: number;
  readonly isSocket: boolean;
}

/** A place in memory, moved rather than made anew for every call. */
export interface Window {
  at: Pointer;
  bytes: number;
}

/** The address of a buffer that stays where it is (`Buffer.allocUnsafeSlow`). */
export function addressOf(buffer: Buffer): number {
  return ptr(buffer);
}

/** What is asked of and answered by one wait: a fixed number of slots, each a descriptor or nothing. */
export class Watch {
  readonly slots: number;
  readonly at: Pointer;
  readonly #words: Int32Array;
  readonly #halves: Int16Array;

  constructor(slots: number) {
    this.slots = slots;
    this.#words = new Int32Array(slots * 2);
    this.#halves = new Int16Array(this.#words.buffer);
    this.at = ptr(this.#words);
  }

  /** Asks in one slot; a null descriptor asks nothing there. */
  ask(slot: number, fd: number | null, events: number): void {
    this.#words[slot * 2] = fd ?? -1;
    this.#halves[slot * 4 + 2] = events;
    this.#halves[slot * 4 + 3] = 0;
  }

  /** What the last wait answered in one slot; 0 is nothing. */
  answer(slot: number): number {
    return this.#halves[slot * 4 + 3] as number;
  }
}
