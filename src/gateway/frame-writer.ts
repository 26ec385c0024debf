// The server's frames: unmasked, final, header and payload in one buffer, so that each is one write.

/** Room for the header of a payload of `length` bytes and for the payload, the header already written. */
function opened(opcode: number, length: number): { bytes: Buffer; head: number } {
  const head = length < 126 ? 2 : length < 65536 ? 4 : 10;
  const bytes = Buffer.allocUnsafe(head + length);
  bytes[0] = 0x80 | opcode;
  bytes[1] = head === 2 ? length : head === 4 ? 126 : 127;
  if (head === 4) bytes.writeUInt16BE(length, 2);
  if (head === 10) bytes.writeBigUInt64BE(BigInt(length), 2);
  return { bytes, head };
}

/** One unmasked frame of the server. */
export function frame(opcode: number, payload: Uint8Array): Buffer {
  const { bytes, head } = opened(opcode, payload.length);
  bytes.set(payload, head);
  return bytes;
}

/** A text frame, encoded straight into its place. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const { bytes, head } = opened(1, length);
  bytes.write(text, head, length, "utf8");
  return bytes;
}

/** The frame of two texts one after the other, the first of which is ASCII; they are never joined as strings. */
export function joinedTextFrame(ascii: string, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const { bytes, head } = opened(1, ascii.length + length);
  bytes.write(ascii, head, ascii.length, "latin1");
  bytes.write(text, head + ascii.length, length, "utf8");
  return bytes;
}

export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(8, payload);
}
