import { expect, test } from "bun:test";
import { codeOf } from "../../src/base/failure.ts";
import { LineSplitter } from "../../src/base/lines.ts";

function split(pieces: readonly Uint8Array[], maxLineBytes = 1_000): string[] {
  const splitter = new LineSplitter({ maxLineBytes });
  const lines = pieces.flatMap((piece) => splitter.push(piece));
  const rest = splitter.rest();
  return [...lines, ...(rest === null ? [] : [rest])].map((line) => Buffer.from(line).toString("latin1"));
}

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return codeOf(error);
  }
  return "none";
};

test("LineSplitter gives the same lines at every pair of split points (B01, B12)", () => {
  const bytes = Buffer.from('{"t":"读取 — 🎉"}\n\r\n\na\u2028b\u2029c\u0085d\n\xff\nlast', "utf8");
  const whole = bytes.toString("latin1").split("\n");
  for (let first = 0; first <= bytes.length; first += 1) {
    for (let second = first; second <= bytes.length; second += 1) {
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      expect(split(pieces)).toEqual(whole);
    }
  }
});

test("LineSplitter agrees with a plain split on random bytes in random pieces", () => {
  let state = 0x2545f491;
  const next = (below: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const bytes = Buffer.from(Array.from({ length: next(200) }, () => (next(4) === 0 ? 0x0a : next(256))));
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = 1 + next(40);
      pieces.push(bytes.subarray(at, at + length));
      at += length;
    }
    const expected = bytes.toString("latin1").split("\n");
    if (expected.at(-1) === "") expected.pop();
    expect(split(pieces)).toEqual(expected);
  }
});

test("LineSplitter takes a line at its limit and refuses one byte more, however it is cut", () => {
  for (let cut = 0; cut <= 10; cut += 1) {
    const fits = Buffer.from(`${"a".repeat(10)}\n`);
    expect(split([fits.subarray(0, cut), fits.subarray(cut)], 10)).toEqual(["a".repeat(10)]);
    const long = Buffer.from(`${"a".repeat(11)}\n`);
    expect(refusal(() => split([long.subarray(0, cut), long.subarray(cut)], 10))).toBe("line_too_long");
  }
  expect(refusal(() => split([Buffer.from("a".repeat(11))], 10))).toBe("line_too_long");
});

test("LineSplitter keeps its own copy of what it hands out and what it keeps", () => {
  const splitter = new LineSplitter({ maxLineBytes: 100 });
  const chunk = Buffer.from("one\ntw");
  const [one] = splitter.push(chunk);
  chunk.fill(0x78);
  expect(Buffer.from(one ?? []).toString()).toBe("one");
  expect(Buffer.from(splitter.rest() ?? []).toString()).toBe("tw");
});
