// The attacks of an admitted client that keep no rule of the frames. None of them is ever a whole message: what is
// behind the endpoint gets nothing. The door stands open when the connection stays.

export interface FrameAttack {
  readonly check: string;
  /** Written one after the other until the other side has closed. */
  readonly pieces: () => Iterable<Uint8Array>;
}

const key = [0, 0, 0, 0];

function fragment(first: number, length: number): Uint8Array {
  if (length < 126) return Uint8Array.from([first, 0x80 | length, ...key, ...new Uint8Array(length).fill(0x20)]);
  const head = Buffer.from([first, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, ...key]);
  head.writeUInt32BE(length, 6);
  return Buffer.concat([head, Buffer.alloc(length, 0x20)]);
}

const once = (check: string, ...bytes: number[]): FrameAttack => ({ check, pieces: () => [Uint8Array.from(bytes)] });

/** More tiny pieces of one message than any sender needs. */
function* tinyFragments(): Iterable<Uint8Array> {
  yield fragment(0x01, 1);
  const many = Buffer.concat(Array.from({ length: 1024 }, () => fragment(0x00, 1)));
  for (let sent = 0; sent < 128; sent++) yield many;
}

/** A message that grows past every limit and never ends. */
function* endlessMessage(): Iterable<Uint8Array> {
  yield fragment(0x01, 1);
  const large = fragment(0x00, 512 * 1024);
  for (let sent = 0; sent < 64; sent++) yield large;
}

export const frameAttacks: readonly FrameAttack[] = [
  once("frame_unmasked", 0x89, 0),
  once("frame_huge_length", 0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ...key),
  once("frame_compressed", 0x41, 0x81, ...key, 0x20),
  once("frame_reserved_opcode", 0x8b, 0x80, ...key),
  {
    check: "frame_long_control",
    pieces: () => [Uint8Array.from([0x89, 0xfe, 0, 126, ...key, ...new Uint8Array(126)])],
  },
  once("frame_broken_text", 0x01, 0x81, ...key, 0xff, 0x80, 0x80, ...key),
  { check: "fragment_flood", pieces: tinyFragments },
  { check: "message_bomb", pieces: endlessMessage },
];
