// Bytes and their text forms. Readers are canonical: they take exactly what the writers give and refuse every
// other spelling with null. Comparison does not stop at the first difference.
import { closeSync, openSync, readSync } from "node:fs";

const encoder = new TextEncoder();
const pieceBytes = 1024 * 1024;

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of valid UTF-8, a byte order mark kept as a character; null for anything else. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // The only reason to throw here is malformed input, which is the caller's to weigh.
    return null;
  }
}

export function toHex(bytes: Uint8Array): string {
  return bytes.toHex();
}

/** Bytes of lower-case hexadecimal text, or null. */
export function fromHex(text: string): Uint8Array | null {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return null;
  return Uint8Array.fromHex(text);
}

export function toBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Bytes of unpadded base64url text, or null; a spelling with stray low bits is refused. */
export function fromBase64Url(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
  return toBase64Url(bytes) === text ? bytes : null;
}

export function sha256Hex(data: string | Uint8Array): string {
  // The class of its own: making the general one costs a hook as much as opening four files.
  return Bun.SHA256.hash(data, "hex");
}

/** SHA-256 of a file, read in pieces so that no file is ever held whole. */
export function sha256FileHex(path: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const piece = new Uint8Array(pieceBytes);
  const fd = openSync(path, "r");
  try {
    for (;;) {
      const count = readSync(fd, piece, 0, pieceBytes, null);
      if (count === 0) return hasher.digest("hex");
      hasher.update(piece.subarray(0, count));
    }
  } finally {
    closeSync(fd);
  }
}

/** True when both hold the same bytes; the time taken depends on the lengths alone. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let i = 0; i < left.length; i++) difference |= left[i]! ^ right[i]!;
  return difference === 0;
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
