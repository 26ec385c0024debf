// RFC 6455 on the server's side: masking, lengths, fragments, control frames, UTF-8 and close codes.
import { expect, test } from "bun:test";
import { frame, joinedTextFrame, textFrame } from "../../src/gateway/frame-writer.ts";
import { FrameReader } from "../../src/gateway/frames.ts";
import { gatewayLimits } from "../../src/gateway/limits.ts";
import { masked } from "./raw-frames.ts";

function read(chunks: readonly Buffer[], limits = { maxFrameBytes: 1024, maxMessageBytes: 4096 }): string[] {
  const seen: string[] = [];
  const reader = new FrameReader(
    {
      text: (text) => seen.push(`text ${text}`),
      ping: (payload) => seen.push(`ping ${Buffer.from(payload)}`),
      pong: () => seen.push("pong"),
      close: (code) => seen.push(`close ${code}`),
      fail: (code) => seen.push(`fail ${code}`),
    },
    limits,
  );
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  return seen;
}

const utf8 = (text: string) => Buffer.from(text);
const closing = (code: number, reason = "") =>
  masked(0x88, Buffer.concat([Buffer.from([code >> 8, code & 255]), utf8(reason)]));

test("FrameReader reads text at every split point, with fragments and control frames between", () => {
  const bytes = Buffer.concat([
    masked(0x01, utf8("añ").subarray(0, 2)),
    masked(0x89, utf8("p")),
    masked(0x80, utf8("ñ€").subarray(1)),
    masked(0x81, utf8("")),
    closing(1000),
  ]);

  for (let at = 0; at <= bytes.length; at++)
    expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(["ping p", "text añ€", "text ", "close 1000"]);
  expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(["ping p", "text añ€", "text ", "close 1000"]);
});

test("G164 G165 G166 FrameReader refuses what the rules forbid, each with its code", () => {
  const cases: ReadonlyArray<readonly [string, Buffer, number]> = [
    ["unmasked", frame(1, utf8("x")), 1002],
    ["binary", masked(0x82, utf8("x")), 1003],
    ["rsv1", masked(0xc1, utf8("x")), 1002],
    ["rsv2", masked(0xa1, utf8("x")), 1002],
    ["rsv3", masked(0x91, utf8("x")), 1002],
    ["reserved data opcode", masked(0x83, utf8("x")), 1002],
    ["reserved control opcode", masked(0x8b, utf8("x")), 1002],
    ["continuation of nothing", masked(0x80, utf8("x")), 1002],
    ["new message inside a message", Buffer.concat([masked(0x01, utf8("x")), masked(0x81, utf8("y"))]), 1002],
    ["fragmented ping", masked(0x09, utf8("x")), 1002],
    ["long ping", masked(0x89, Buffer.alloc(126)), 1002],
    ["16-bit length not minimal", Buffer.from([0x81, 0xfe, 0, 5, 0, 0, 0, 0]), 1002],
    ["64-bit length not minimal", Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 1, 0]), 1002],
    ["huge length", Buffer.from([0x81, 0xff, 255, 255, 255, 255, 0, 0, 0, 0]), 1009],
    ["bad UTF-8", masked(0x81, Buffer.from([0xc0, 0xaf])), 1007],
    ["cut UTF-8", masked(0x81, Buffer.from([0xe2, 0x82])), 1007],
    ["close of one byte", masked(0x88, utf8("x")), 1002],
    ["close reason not UTF-8", masked(0x88, Buffer.from([3, 232, 0xff])), 1007],
  ];
  for (const [title, bytes, code] of cases) expect([title, ...read([bytes])]).toEqual([title, `fail ${code}`]);
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000])
    expect(read([closing(code)])).toEqual(["fail 1002"]);
  for (const code of [1000, 1001, 1011, 3000, 4999]) expect(read([closing(code, "bye")])).toEqual([`close ${code}`]);
});

test("G003 G004 G165 frame and message limits hold apart, at the limit and one more", () => {
  const part = (first: number, length: number) => masked(first, Buffer.alloc(length, 120));
  expect(read([part(0x81, 1024)])).toHaveLength(1);
  expect(read([part(0x81, 1025)])).toEqual(["fail 1009"]);
  const three = [part(0x01, 1024), part(0x00, 1024), part(0x00, 1024)];
  expect(read([...three, part(0x80, 1024)])[0]).toHaveLength(5 + 4096);
  expect(read([...three, part(0x00, 1024), part(0x80, 1)])).toEqual(["fail 1009"]);
});

test("textFrame() and joinedTextFrame() have the shortest header for their bytes, ASCII or not", () => {
  const heads = [
    [125, "817d"],
    [126, "817e007e"],
    [65_535, "817effff"],
    [65_536, "817f0000000000010000"],
  ] as const;
  for (const [length, head] of heads) {
    for (const text of ["a".repeat(length), `${"b".repeat(length - 3)}€`, `${"c".repeat(length - 2)}ñ`]) {
      const bytes = textFrame(text);
      expect([length, bytes.toString("hex", 0, head.length / 2)]).toEqual([length, head]);
      expect(bytes.toString("utf8", head.length / 2) === text).toBe(true);
      expect(joinedTextFrame(text.slice(0, 7), text.slice(7)).equals(bytes)).toBe(true);
      expect(frame(1, utf8(text)).equals(bytes)).toBe(true);
    }
  }
  expect(textFrame("")).toEqual(Buffer.from([0x81, 0]));
});

test("a message comes in as many pieces as the limit says, and not in one more", () => {
  const many = (count: number) => [
    masked(0x01, utf8("1")),
    ...Array.from({ length: count - 2 }, () => masked(0x00, utf8(""))),
    masked(0x80, utf8("")),
  ];
  expect(read([Buffer.concat(many(gatewayLimits.maxFragments))])).toEqual(["text 1"]);
  expect(read([Buffer.concat([...many(3), ...many(gatewayLimits.maxFragments + 1)])])).toEqual(["text 1", "fail 1009"]);
});

test("FrameReader survives mutated bytes", () => {
  const rounds = Number(process.env.PROCTOR_FUZZ_ROUNDS ?? 2000);
  let state = 12345;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 8;
  };
  const seed = Buffer.concat([
    masked(0x81, utf8("hello")),
    masked(0x01, utf8("a")),
    masked(0x80, utf8("b")),
    masked(0x89, utf8("p")),
  ]);
  for (let round = 0; round < rounds; round++) {
    const bytes = Buffer.from(seed);
    for (let i = 0; i < 3; i++) bytes[next() % bytes.length] = next() & 255;
    const cut = next() % bytes.length;
    expect(() => read([bytes.subarray(0, cut), bytes.subarray(cut)])).not.toThrow();
  }
});
