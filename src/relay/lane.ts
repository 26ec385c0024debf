// One direction between two descriptors: takes in what there is, passes on what is whole, and takes no more while the
// reader does not. Nothing here waits; the carrier says when to try again.

import { addressOf, type Descriptors, pollFlags, type Sink, type Window } from "../base/descriptors.ts";
import { type BeforeFrames, FrameBuffer } from "./frame-buffer.ts";

/** Calls that failed one after another although the kernel had said that they would not. */
const strikes = 3;
const broken = pollFlags.failed | pollFlags.hungUp;

export type LaneEnd = "ended" | "reader_gone" | "frame_limit" | "unnoted";

interface LaneOptions {
  readonly source: number;
  readonly sink: Sink;
  readonly before: BeforeFrames;
}

export class Lane {
  readonly source: number;
  readonly sink: Sink;
  readonly #kernel: Descriptors;
  readonly #frames: FrameBuffer;
  readonly #address: number;
  readonly #window: Window = { at: 0 as Window["at"], bytes: 0 };
  #end: LaneEnd | null = null;
  #readerGone = false;
  #fault: unknown = null;
  #failedReads = 0;
  #failedWrites = 0;

  constructor(kernel: Descriptors, options: LaneOptions) {
    this.#kernel = kernel;
    this.source = options.source;
    this.sink = options.sink;
    this.#frames = new FrameBuffer(options.before);
    this.#address = addressOf(this.#frames.bytes);
  }

  /** Why nothing more is taken in, or null. */
  get end(): LaneEnd | null {
    return this.#end;
  }

  /** What kept a frame from being noted, when `end` is "unnoted". */
  get fault(): unknown {
    return this.#fault;
  }

  get reads(): boolean {
    return this.#end === null && this.#frames.room > 0;
  }

  get writes(): boolean {
    return !this.#readerGone && this.#frames.unpassed > 0;
  }

  /** Neither side has anything to do any more. */
  get over(): boolean {
    return this.#end !== null && !this.writes;
  }

  /** Takes in what there is, and passes on what that made whole. */
  read(answer: number): void {
    this.#window.at = (this.#address + this.#frames.end) as Window["at"];
    this.#window.bytes = this.#frames.room;
    const count = this.#kernel.read(this.source, this.#window);
    if (count > 0) this.#take(count);
    else if (count === 0) this.finish();
    else {
      this.#failedReads += 1;
      if ((answer & broken) !== 0 || this.#failedReads >= strikes) this.finish();
    }
  }

  /** The source has ended, or has been given up. */
  finish(): void {
    if (this.#end !== null) return;
    this.#end = "ended";
    this.#noting(() => {
      this.#frames.ended();
    });
    if (this.writes) this.write(0);
  }

  /** Passes on what may go. */
  write(answer: number): void {
    this.#window.at = (this.#address + this.#frames.passed) as Window["at"];
    this.#window.bytes = this.#frames.unpassed;
    const count = this.#kernel.write(this.sink, this.#window);
    if (count >= 0) {
      this.#failedWrites = 0;
      this.#frames.went(count);
      return;
    }
    // A full pipe refuses too; that nobody reads any more is told by the wait.
    if (answer === 0) return;
    this.#failedWrites += 1;
    if ((answer & broken) === 0 && this.#failedWrites < strikes) return;
    this.#readerGone = true;
    this.#end ??= "reader_gone";
  }

  #take(count: number): void {
    this.#failedReads = 0;
    this.#noting(() => {
      if (!this.#frames.filled(count)) this.#end = "frame_limit";
    });
    if (this.writes) this.write(0);
  }

  /** What cannot be noted must not be passed on, so the lane ends there. */
  #noting(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fault = error;
      this.#end = "unnoted";
    }
  }
}
