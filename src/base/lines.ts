// Splits a byte stream into lines on byte 0x0A alone, so no other character that some reader calls a line end
// (U+2028, U+0085, a lone CR) ever cuts a line. It never decodes, and refuses before it keeps too much.

import { Failure } from "./failure.ts";

const newline = 0x0a;

export class LineSplitter {
  readonly #maxLineBytes: number;
  #parts: Uint8Array[] = [];
  #kept = 0;

  /** `maxLineBytes` counts a line without its newline. */
  constructor(options: { readonly maxLineBytes: number }) {
    this.#maxLineBytes = options.maxLineBytes;
  }

  /**
   * Returns the lines that this chunk completes, without their newline. A line over the limit throws
   * `line_too_long`; the splitter is useless afterwards, its reader has to give up.
   */
  push(chunk: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      lines.push(this.#finish(chunk.subarray(from, at)));
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** The bytes after the last newline, or null when there are none; they leave the splitter. */
  rest(): Uint8Array | null {
    if (this.#kept === 0) return null;
    return this.#finish(new Uint8Array(0));
  }

  #finish(end: Uint8Array): Uint8Array {
    if (this.#kept + end.byteLength > this.#maxLineBytes) throw new Failure("line_too_long");
    if (this.#kept === 0) return new Uint8Array(end);
    const line = new Uint8Array(this.#kept + end.byteLength);
    let at = 0;
    for (const part of [...this.#parts, end]) {
      line.set(part, at);
      at += part.byteLength;
    }
    this.#parts = [];
    this.#kept = 0;
    return line;
  }

  #keep(part: Uint8Array): void {
    if (part.byteLength === 0) return;
    if (this.#kept + part.byteLength > this.#maxLineBytes) throw new Failure("line_too_long");
    // A copy (a Buffer's own slice() would not be one): the caller's buffer may be used again, and a short tail must not hold a whole chunk in memory.
    this.#parts.push(new Uint8Array(part));
    this.#kept += part.byteLength;
  }
}
