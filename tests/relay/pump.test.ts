import { expect, test } from "bun:test";
import { relayLimits } from "../../src/relay/limits.ts";
import { FrameRuns } from "../../src/relay/pump.ts";

function pushAll(pieces: readonly Buffer[]): { bytes: Buffer; over: boolean } {
  const runs = new FrameRuns();
  const out: Buffer[] = [];
  for (const piece of pieces) {
    const { run, over } = runs.push(piece);
    if (run !== null) out.push(Buffer.from(run));
    if (over) return { bytes: Buffer.concat(out), over };
  }
  const rest = runs.rest();
  if (rest !== null) out.push(rest);
  return { bytes: Buffer.concat(out), over: false };
}

test("FrameRuns gives the same bytes at every split point (R013, B12)", () => {
  const bytes = Buffer.from('{"text":"读取 — 🎉"}\n\n{"b":1}\nlast \xff');
  for (let first = 0; first <= bytes.length; first += 1) {
    for (let second = first; second <= bytes.length; second += 1) {
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      expect(pushAll(pieces).bytes.equals(bytes)).toBe(true);
    }
  }
});

test("FrameRuns hands out whole frames only, the unfinished one at the end", () => {
  const runs = new FrameRuns();
  expect(runs.push(Buffer.from("ab")).run).toBeNull();
  expect(runs.push(Buffer.from("c\nde")).run?.toString()).toBe("abc\n");
  expect(runs.rest()?.toString()).toBe("de");
  expect(runs.rest()).toBeNull();
});

test("FrameRuns takes a frame of 2 MiB with its newline and refuses one byte more (R014)", () => {
  const limit = relayLimits.frameBytes;
  for (const piece of [limit * 2, 65_536, 1_000_003]) {
    const cut = (bytes: Buffer): Buffer[] => {
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece));
      return pieces;
    };
    const frame = (length: number): Buffer => Buffer.concat([Buffer.alloc(length - 1, 0x61), Buffer.from("\n")]);
    const before = Buffer.from("ok\n");
    const fits = Buffer.concat([before, frame(limit), Buffer.from("after\n")]);
    const fitted = pushAll(cut(fits));
    expect(fitted.over).toBe(false);
    expect(fitted.bytes.equals(fits)).toBe(true);

    const refused = pushAll(cut(Buffer.concat([before, frame(limit + 1), Buffer.from("after\n")])));
    expect(refused.over).toBe(true);
    expect(refused.bytes.toString()).toBe("ok\n");
  }
});

test("FrameRuns refuses an unfinished frame as soon as it cannot fit any more (R014)", () => {
  const runs = new FrameRuns();
  expect(runs.push(Buffer.alloc(relayLimits.frameBytes, 0x61)).over).toBe(false);
  expect(runs.push(Buffer.from("a"))).toEqual({ run: null, over: true });
});
