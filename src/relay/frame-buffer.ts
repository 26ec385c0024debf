// Holds one direction's bytes in one buffer that never grows: what may be passed on, then the frame that is not whole
// yet. A frame over the limit is never begun; a last line without newline is passed on as it is.

import { relayLimits } from "./limits.ts";

const newline = 0x0a;

/** Sees whole frames before any of their bytes may go; when it throws, they may not. */
export type BeforeFrames = (frames: Buffer) => void;

export class FrameBuffer {
  readonly bytes = Buffer.allocUnsafeSlow(relayLimits.frameBytes + relayLimits.readBytes);
  readonly #before: BeforeFrames;
  /** [passed, whole) may go, [whole, end) waits for its newline. */
  #passed = 0;
  #whole = 0;
  #end = 0;

  constructor(before: BeforeFrames) {
    this.#before = before;
  }

  /** Where the next bytes belong. */
  get end(): number {
    return this.#end;
  }

  /** How many may be put there at once. */
  get room(): number {
    return Math.min(this.bytes.byteLength - this.#end, relayLimits.readBytes);
  }

  /** Where the bytes that may go begin. */
  get passed(): number {
    return this.#passed;
  }

  /** How many may go. */
  get unpassed(): number {
    return this.#whole - this.#passed;
  }

  /** Takes in `count` bytes that were put at `end`; false when they make a frame too long. */
  filled(count: number): boolean {
    const from = this.#end;
    this.#end += count;
    const added = this.bytes.subarray(from, this.#end);
    // No newline stands between `whole` and `from`, so only the first frame can be too long.
    if (this.#end - this.#whole > relayLimits.frameBytes) {
      const first = added.indexOf(newline);
      const frameEnd = first < 0 ? this.#end : from + first + 1;
      if (frameEnd - this.#whole > relayLimits.frameBytes) return false;
    }
    const last = added.lastIndexOf(newline);
    if (last >= 0) this.#release(from + last + 1);
    this.#makeRoom();
    return true;
  }

  /** The source has ended: the line without newline that is left may go. */
  ended(): void {
    if (this.#end > this.#whole) this.#release(this.#end);
  }

  /** Notes that `count` of the bytes that may go have gone. */
  went(count: number): void {
    this.#passed += count;
    this.#makeRoom();
  }

  #release(to: number): void {
    this.#before(this.bytes.subarray(this.#whole, to));
    this.#whole = to;
  }

  /** Moves what is left to the front once nothing else is before it; a frame under the limit then always has room. */
  #makeRoom(): void {
    if (this.#passed < this.#whole) return;
    if (this.#whole === this.#end) this.#passed = this.#whole = this.#end = 0;
    else if (this.room < relayLimits.readBytes) {
      this.bytes.copyWithin(0, this.#whole, this.#end);
      this.#end -= this.#whole;
      this.#passed = this.#whole = 0;
    }
  }
}
