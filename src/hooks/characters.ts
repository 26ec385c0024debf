// Character classes without regular expressions: the first one of a process costs more than the whole check it makes,
// and these stand on the way of every tool call. Long texts go through native calls, because a loop over them would
// start the compiler. What runs rarely keeps its expressions.

/** True for lower-case hexadecimal text of whole bytes. */
export function isHex(text: string): boolean {
  try {
    return Uint8Array.fromHex(text).toHex() === text;
  } catch {
    // The one reason to throw is a character that is no digit, or half a byte.
    return false;
  }
}

/** True for 1 to `maxChars` of ASCII letters, digits and the characters of `more`. */
export function isPlainName(text: string, maxChars: number, more: string): boolean {
  if (text === "" || text.length > maxChars) return false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (!isDigit(unit) && !isLetter(unit) && !more.includes(text[i]!)) return false;
  }
  return true;
}

/** True when no character is above ASCII's last printable one. */
export function hasOnlyAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length && !text.includes("\u007f");
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function isLetter(unit: number): boolean {
  return (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a);
}
