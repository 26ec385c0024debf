// What the relay asks of whoever moves the bytes, and what it is told on the way. There are two: one on descriptors
// (Linux), one on the runtime's streams (everywhere else).

import type { Direction } from "./inspect.ts";
import type { LaneEnd } from "./lane.ts";

export interface CarrierHooks {
  /** Whole frames, before any of their bytes is passed on; when it throws, they are not. */
  readonly before: (frames: Buffer, direction: Direction) => void;
  /** A direction takes nothing in any more; `fault` is what `before` threw, if it did. */
  readonly laneEnded: (direction: Direction, end: LaneEnd, fault: unknown) => void;
  /** What the adapter said on stderr. */
  readonly said: (bytes: Uint8Array) => void;
}

export interface Carrier {
  /** Carries until the adapter has ended and its output with it; true when its stderr has ended too. */
  carry(hooks: CarrierHooks): Promise<boolean>;
}
