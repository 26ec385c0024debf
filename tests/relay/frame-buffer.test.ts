import { expect, test } from "bun:test";
import { FrameBuffer } from "../../src/relay/frame-buffer.ts";
import { relayLimits } from "../../src/relay/limits.ts";

/** Puts bytes in as a carrier does; false when a frame got too long. */
function put(frames: FrameBuffer, bytes: Buffer): boolean {
  for (let from = 0; from < bytes.length; ) {
    const part = bytes.subarray(from, from + frames.room);
    if (part.length === 0) throw new Error("no room");
    frames.bytes.set(part, frames.end);
    if (!frames.filled(part.length)) return false;
    from += part.length;
  }
  return true;
}

/** Takes out at most `most` bytes of what may go. */
function take(frames: FrameBuffer, most = Number.POSITIVE_INFINITY): Buffer {
  const count = Math.min(frames.unpassed, most);
  const bytes = Buffer.from(frames.bytes.subarray(frames.passed, frames.passed + count));
  frames.went(count);
  return bytes;
}

function passAll(pieces: readonly Buffer[]): { bytes: Buffer; seen: Buffer; fits: boolean } {
  const seen: Buffer[] = [];
  const out: Buffer[] = [];
  const frames = new FrameBuffer((run) => seen.push(Buffer.from(run)));
  const result = (fits: boolean) => {
    while (frames.unpassed > 0) out.push(take(frames));
    return { bytes: Buffer.concat(out), seen: Buffer.concat(seen), fits };
  };
  for (const piece of pieces) {
    for (const part of cut(piece, relayLimits.readBytes)) {
      if (!put(frames, part)) return result(false);
      out.push(take(frames));
    }
  }
  frames.ended();
  return result(true);
}

function cut(bytes: Buffer, piece: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece));
  return pieces;
}

test("FrameBuffer gives the same bytes at every split point (R013, B12)", () => {
  const bytes = Buffer.from('{"text":"读取 — 🎉"}\n\n{"b":1}\nlast \xff');
  for (let first = 0; first <= bytes.length; first += 3) {
    for (let second = first; second <= bytes.length; second += 1) {
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      const { bytes: passed, seen } = passAll(pieces);
      expect([passed.equals(bytes), seen.equals(bytes)]).toEqual([true, true]);
    }
  }
});

test("FrameBuffer lets whole frames go only, the unfinished one at the end", () => {
  const frames = new FrameBuffer(() => undefined);
  put(frames, Buffer.from("ab"));
  expect(frames.unpassed).toBe(0);
  put(frames, Buffer.from("c\nde"));
  expect(take(frames).toString()).toBe("abc\n");
  frames.ended();
  expect(take(frames).toString()).toBe("de");
  frames.ended();
  expect(frames.unpassed).toBe(0);
});

test("FrameBuffer keeps back what could not be noted", () => {
  const frames = new FrameBuffer((run) => {
    if (run.includes("prompt")) throw new Error("disk full");
  });
  put(frames, Buffer.from("before\n"));
  expect(() => put(frames, Buffer.from("prompt\n"))).toThrow("disk full");
  expect(take(frames).toString()).toBe("before\n");
});

test("FrameBuffer takes a frame of 2 MiB with its newline and refuses one byte more (R014)", () => {
  const limit = relayLimits.frameBytes;
  const frame = (length: number): Buffer => Buffer.concat([Buffer.alloc(length - 1, 0x61), Buffer.from("\n")]);
  const before = Buffer.from("ok\n");
  for (const piece of [limit * 2, 65_536]) {
    const fits = Buffer.concat([before, frame(limit), Buffer.from("after\n")]);
    const fitted = passAll(cut(fits, piece));
    expect([fitted.fits, fitted.bytes.equals(fits)]).toEqual([true, true]);

    const refused = passAll(cut(Buffer.concat([before, frame(limit + 1), Buffer.from("after\n")]), piece));
    expect([refused.fits, refused.bytes.toString(), refused.seen.toString()]).toEqual([false, "ok\n", "ok\n"]);
  }
});

test("FrameBuffer refuses an unfinished frame as soon as it cannot fit any more (R014)", () => {
  const frames = new FrameBuffer(() => undefined);
  expect(put(frames, Buffer.alloc(relayLimits.frameBytes, 0x61))).toBe(true);
  expect(put(frames, Buffer.from("a"))).toBe(false);
});

test("FrameBuffer always has room for a frame under the limit, however slowly it is emptied", () => {
  const frame = Buffer.concat([Buffer.alloc(700_001, 0x62), Buffer.from("\n")]);
  const bytes = Buffer.concat(Array.from({ length: 5 }, () => frame));
  for (const most of [1, 333_333]) {
    const frames = new FrameBuffer(() => undefined);
    const out: Buffer[] = [];
    let from = 0;
    while (from < bytes.length || frames.unpassed > 0) {
      const part = bytes.subarray(from, from + Math.min(frames.room, 65_536));
      if (part.length > 0) put(frames, part);
      from += part.length;
      // A reader that takes a little at a time, and all when nothing else moves.
      out.push(take(frames, part.length > 0 ? most : undefined));
      if (part.length === 0 && frames.unpassed === 0 && frames.room === 0) throw new Error("stuck");
    }
    expect(Buffer.concat(out).equals(bytes)).toBe(true);
  }
});
