// The server's frames: unmasked, final, header and payload in one buffer, so that each is one write. Each has memory of
// its own: a small piece of a shared pool that waits for a slow reader would keep its whole pool, past the queue's bound.

function headBytes(length: number): number {
  return length < 126 ? 2 : length < 65536 ? 4 : 10;
}

/** Writes the header of a frame whose payload begins at `head` and goes to the end of `bytes`. */
function begin(bytes: Buffer, opcode: number, head: number): Buffer {
  const length = bytes.length - head;
  bytes[0] = 0x80 | opcode;
  if (head === 2) bytes[1] = length;
  else if (head === 4) {
    bytes[1] = 126;
    bytes[2] = length >> 8;
    bytes[3] = length & 255;
  } else {
    bytes[1] = 127;
    bytes.writeBigUInt64BE(BigInt(length), 2);
  }
  return bytes;
}

/** One unmasked frame of the server. */
export function frame(opcode: number, payload: Uint8Array): Buffer {
  const head = headBytes(payload.length);
  const bytes = Buffer.allocUnsafeSlow(head + payload.length);
  bytes.set(payload, head);
  return begin(bytes, opcode, head);
}

/** A text frame, encoded straight into its place. */
export function textFrame(text: string): Buffer {
  return joinedTextFrame("", text);
}

/** The frame of two texts one after the other, the first of which is short and ASCII; they are never joined as strings. */
export function joinedTextFrame(ascii: string, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = headBytes(ascii.length + length);
  const from = head + ascii.length;
  const bytes = Buffer.allocUnsafeSlow(from + length);
  for (let at = 0; at < ascii.length; at++) bytes[head + at] = ascii.charCodeAt(at);
  // As many bytes as characters: all of them are ASCII, and copied as they are.
  bytes.write(text, from, length, length === text.length ? "latin1" : "utf8");
  return begin(bytes, 1, head);
}

export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(8, payload);
}
