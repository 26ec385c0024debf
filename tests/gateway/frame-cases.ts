// The conformance table of RFC 6455 on the server's side: what a client sends after the upgrade, in which pieces, and
// what has to come back. `echo:` is the answer to a call whose parameter was that text.
import { masked } from "./raw-frames.ts";

export interface FrameCase {
  readonly title: string;
  /** Each piece is a write of its own. */
  readonly pieces: readonly Buffer[];
  /** In order: `echo:TEXT`, `pong:TEXT`, `parse_error`; the last one may be `close:CODE`. */
  readonly answers: readonly string[];
}

const [text, more, closing, ping, pong] = [0x1, 0x0, 0x8, 0x9, 0xa];
const final = 0x80;
const bytes = (value: string) => Buffer.from(value, "utf8");
const call = (value: string) => bytes(JSON.stringify({ id: 1, method: "model/list", params: { text: value } }));
const whole = (value: string) => masked(final | text, call(value));
const closeOf = (code: number, reason: Uint8Array = Buffer.alloc(0)) =>
  masked(final | closing, Buffer.concat([Buffer.from([code >> 8, code & 255]), reason]));
const one = (title: string, frames: Buffer | Buffer[], ...answers: string[]): FrameCase => ({
  title,
  pieces: [Array.isArray(frames) ? Buffer.concat(frames) : frames],
  answers,
});

/** The message of `payload` as fragments cut at `cuts`, the first byte of each being what the rules ask for. */
function fragments(payload: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts, payload.length];
  return ends.map((end, at) => {
    const part = payload.subarray(at === 0 ? 0 : ends[at - 1], end);
    return masked((at === 0 ? text : more) | (at === ends.length - 1 ? final : 0), part);
  });
}

/** A call whose frame has exactly `length` bytes of payload. */
function ofLength(length: number): FrameCase {
  const value = "x".repeat(length - call("").length);
  return one(`a text of ${length} bytes`, whole(value), `echo:${value}`);
}

/** A frame whose length stands in a longer form than it needs. */
function longForm(length: number, form: 126 | 127): Buffer {
  const head = form === 126 ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = final | text;
  head[1] = 0x80 | form;
  if (form === 126) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, Buffer.alloc(4), Buffer.alloc(length, 0x20)]);
}

function unmasked(first: number, payload: Buffer): Buffer {
  const frame = masked(first, payload);
  frame[1]! &= 0x7f;
  return frame;
}

const lengths = [126, 127, 128, 1000, 65_535, 65_536, 65_537].map(ofLength);

const masks = [
  [0, 0, 0, 0],
  [255, 255, 255, 255],
  [0, 1, 0, 128],
].map((mask) => one(`mask ${mask}`, masked(final | text, call("m"), mask), "echo:m"));

const unmaskedFrames = [text, closing, ping, pong].map((opcode) =>
  one(`unmasked frame of opcode ${opcode}`, unmasked(final | opcode, bytes("{}")), "close:1002"),
);

const reserved = [
  ...[0x40, 0x20, 0x10, 0x70].map((bits) =>
    one(`reserved bits ${bits}`, masked(final | bits | text, call("x")), "close:1002"),
  ),
  ...[0x40, 0x10].map((bits) =>
    one(`reserved bits ${bits} on a ping`, masked(final | bits | ping, bytes("p")), "close:1002"),
  ),
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) =>
    one(`reserved opcode ${opcode}`, masked(final | opcode, bytes("x")), "close:1002"),
  ),
  one("binary", masked(final | 2, call("x")), "close:1003"),
  one("binary, fragmented", masked(2, call("x")), "close:1003"),
];

const lengthForms = [
  one("16-bit form of 125", longForm(125, 126), "close:1002"),
  one("16-bit form of 0", longForm(0, 126), "close:1002"),
  one("64-bit form of 125", longForm(125, 127), "close:1002"),
  one("64-bit form of 65535", longForm(65_535, 127), "close:1002"),
  one("a length with its highest bit", Buffer.from([final | text, 0xff, 128, 0, 0, 0, 0, 0, 0, 0]), "close:1009"),
  one("a length of 2^53 and one", Buffer.from([final | text, 0xff, 0, 32, 0, 0, 0, 0, 0, 1]), "close:1009"),
  one("a declared frame of 1 MiB and one", Buffer.from([final | text, 0xff, 0, 0, 0, 0, 0, 16, 0, 1]), "close:1009"),
];

const fragmented = [
  one("two fragments", fragments(call("ab"), [20]), "echo:ab"),
  one("a fragment for every byte", fragments(call("ab"), [...call("ab").keys()].slice(1)), "echo:ab"),
  one("an empty first fragment", fragments(call("ab"), [0]), "echo:ab"),
  one("empty fragments between", fragments(call("ab"), [10, 10, 10]), "echo:ab"),
  one("an empty last fragment", fragments(call("ab"), [call("ab").length]), "echo:ab"),
  one(
    "a ping between",
    [...fragments(call("ab"), [9]).slice(0, 1), masked(final | ping, bytes("p")), fragments(call("ab"), [9])[1]!],
    "pong:p",
    "echo:ab",
  ),
  one(
    "a pong between",
    [fragments(call("ab"), [9])[0]!, masked(final | pong, bytes("p")), fragments(call("ab"), [9])[1]!],
    "echo:ab",
  ),
  one("a close between", [fragments(call("ab"), [9])[0]!, closeOf(1000)], "close:1000"),
  one(
    "two messages of two fragments",
    [...fragments(call("a"), [5]), ...fragments(call("b"), [7])],
    "echo:a",
    "echo:b",
  ),
  one("a continuation of nothing", masked(final | more, bytes("x")), "close:1002"),
  one(
    "a continuation after the end",
    [...fragments(call("a"), [5]), masked(final | more, bytes("x"))],
    "echo:a",
    "close:1002",
  ),
  one("a new message inside a message", [masked(text, bytes("x")), whole("y")], "close:1002"),
  one("a fragmented ping", masked(ping, bytes("x")), "close:1002"),
  one("a fragmented close", masked(closing, Buffer.from([3, 232])), "close:1002"),
  one("a fragmented pong", masked(pong, bytes("x")), "close:1002"),
];

const control = [
  ...[0, 1, 124, 125].map((length) =>
    one(`a ping of ${length}`, masked(final | ping, Buffer.alloc(length, 112)), `pong:${"p".repeat(length)}`),
  ),
  one("a ping that is not UTF-8", masked(final | ping, Buffer.from([0xff])), "pong:\ufffd"),
  one("a ping of 126", masked(final | ping, Buffer.alloc(126)), "close:1002"),
  one("a pong nobody asked for", [masked(final | pong, bytes("x")), whole("a")], "echo:a"),
  one(
    "ten pings at once",
    Array.from({ length: 10 }, (_, at) => masked(final | ping, bytes(`${at}`))),
    ...Array.from({ length: 10 }, (_, at) => `pong:${at}`),
  ),
  one("a close of 126 bytes", masked(final | closing, Buffer.alloc(126)), "close:1002"),
];

const closes = [
  one("a close without a code", masked(final | closing, Buffer.alloc(0)), "close:1000"),
  one("a close of one byte", masked(final | closing, Buffer.from([3])), "close:1002"),
  ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999].map((code) =>
    one(`close ${code}`, closeOf(code, bytes("bye")), `close:${code}`),
  ),
  ...[0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map((code) =>
    one(`close ${code}, which nobody may send`, closeOf(code), "close:1002"),
  ),
  one("the longest reason", closeOf(1000, Buffer.alloc(123, 114)), "close:1000"),
  one("a reason that is not UTF-8", closeOf(1000, Buffer.from([0xff])), "close:1007"),
  one("a call after the close", [closeOf(1000), whole("late")], "close:1000"),
  one("a ping after the close", [closeOf(1000), masked(final | ping, bytes("late"))], "close:1000"),
  one("a broken frame after the close", [closeOf(1000), unmasked(final | text, bytes("{}"))], "close:1000"),
];

const broken: ReadonlyArray<readonly [string, number[]]> = [
  ["a lone continuation byte", [0x80]],
  ["two bytes, overlong", [0xc0, 0xaf]],
  ["three bytes, overlong", [0xe0, 0x80, 0xaf]],
  ["four bytes, overlong", [0xf0, 0x80, 0x80, 0xaf]],
  ["a surrogate", [0xed, 0xa0, 0x80]],
  ["beyond U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
  ["a first byte of five", [0xf8, 0x88, 0x80, 0x80, 0x80]],
  ["0xff", [0xff]],
  ["cut after one of two", [0xc3]],
  ["cut after two of three", [0xe2, 0x82]],
  ["cut after three of four", [0xf0, 0x9f, 0x8e]],
];
const sample = "ñ€🎉\uffff\ufeff";
const unicode = [
  one("characters of every length", whole(sample), `echo:${sample}`),
  one("a byte order mark first is no JSON", masked(final | text, bytes("\ufeff{}")), "parse_error"),
  ...broken.map(([title, wrong]) =>
    one(`not UTF-8: ${title}`, masked(final | text, Buffer.from([0x22, ...wrong, 0x22])), "close:1007"),
  ),
  ...broken.map(([title, wrong]) =>
    one(`not UTF-8 over fragments: ${title}`, fragments(Buffer.from([0x22, ...wrong, 0x22]), [2]), "close:1007"),
  ),
  ...Array.from({ length: bytes(sample).length - 1 }, (_, at) => {
    const cut = call(sample).indexOf(bytes(sample)) + at + 1;
    return one(`UTF-8 cut at byte ${at + 1} by a fragment`, fragments(call(sample), [cut]), `echo:${sample}`);
  }),
];

const pieces: FrameCase[] = [
  one("an empty text", masked(final | text, Buffer.alloc(0)), "parse_error"),
  { title: "one byte a write", pieces: [...whole("ñ🎉")].map((byte) => Buffer.from([byte])), answers: ["echo:ñ🎉"] },
  one(
    "fifty calls in one write",
    Array.from({ length: 50 }, () => whole("n")),
    ...Array(50).fill("echo:n"),
  ),
  {
    title: "two calls cut in the second head",
    pieces: [Buffer.concat([whole("a"), whole("b").subarray(0, 1)]), whole("b").subarray(1)],
    answers: ["echo:a", "echo:b"],
  },
];

export const frameCases: readonly FrameCase[] = [
  ...lengths,
  ...masks,
  ...unmaskedFrames,
  ...reserved,
  ...lengthForms,
  ...fragmented,
  ...control,
  ...closes,
  ...unicode,
  ...pieces,
];
