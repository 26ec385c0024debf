// Reads one HTTP/1.1 answer from the pieces of a socket: by content-length, in chunks, or up to the end of the
// connection. Refuses what is ambiguous or over a bound before it keeps it.

import { Failure } from "./failure.ts";

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

interface Head {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly framing: Framing;
}

type Framing =
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "to_end" };

const maxHeadBytes = 65_536;
/** Size lines and trailers of a chunked body, beside its data. */
const maxChunkLineBytes = 1_024;
const headEnd = Buffer.from("\r\n\r\n");

export class HttpAnswerReader {
  readonly #maxBytes: number;
  readonly #headOnly: boolean;
  #waiting = Buffer.alloc(0);
  #head: Head | null = null;
  readonly #body: Buffer[] = [];
  #kept = 0;
  /** Bytes left of the current chunk with its line end; null while a size line is due. */
  #chunkLeft: number | null = null;
  #done: Answer | null = null;

  constructor(options: { readonly maxBytes: number; readonly headOnly: boolean }) {
    this.#maxBytes = options.maxBytes;
    this.#headOnly = options.headOnly;
  }

  /** The answer once it is whole, null before. */
  push(bytes: Uint8Array): Answer | null {
    if (this.#done !== null) return this.#done;
    this.#waiting = this.#waiting.byteLength === 0 ? Buffer.from(bytes) : Buffer.concat([this.#waiting, bytes]);
    while (this.#head === null) {
      if (!this.#readHead()) return null;
    }
    return this.#readBody(this.#head);
  }

  /** The other side closed: the answer if that is how this one ends, a failure otherwise. */
  end(): Answer {
    if (this.#done !== null) return this.#done;
    if (this.#head === null) throw new Failure(this.#waiting.byteLength === 0 ? "http_unreachable" : "http_malformed");
    if (this.#head.framing.kind !== "to_end") throw new Failure("http_malformed");
    return this.#finish(this.#head);
  }

  #readHead(): boolean {
    const end = this.#waiting.indexOf(headEnd);
    if (end > maxHeadBytes || (end < 0 && this.#waiting.byteLength > maxHeadBytes)) throw new Failure("http_malformed");
    if (end < 0) return false;
    const [first = "", ...lines] = this.#waiting.toString("latin1", 0, end).split("\r\n");
    this.#waiting = this.#waiting.subarray(end + headEnd.byteLength);
    const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |$)/.exec(first)?.[1]);
    if (!Number.isInteger(status)) throw new Failure("http_malformed");
    if (status === 101) throw new Failure("http_malformed");
    // Interim answers only announce the real one.
    if (status < 200) return true;
    const headers = headersOf(lines);
    this.#head = { status, headers, framing: this.#framingOf(status, headers) };
    return true;
  }

  #framingOf(status: number, headers: Record<string, string>): Framing {
    if (this.#headOnly || status === 204 || status === 304) return { kind: "length", bytes: 0 };
    const length = headers["content-length"];
    const coding = headers["transfer-encoding"];
    if (coding !== undefined) {
      if (length !== undefined || coding.toLowerCase() !== "chunked") throw new Failure("http_malformed");
      return { kind: "chunked" };
    }
    if (length === undefined) return { kind: "to_end" };
    if (!/^[0-9]{1,15}$/.test(length)) throw new Failure("http_malformed");
    if (Number(length) > this.#maxBytes) throw new Failure("http_result_limit");
    return { kind: "length", bytes: Number(length) };
  }

  #readBody(head: Head): Answer | null {
    const { framing } = head;
    if (framing.kind === "chunked") return this.#readChunks(head);
    if (framing.kind === "to_end") {
      this.#keep(this.#waiting.byteLength);
      return null;
    }
    this.#keep(Math.min(this.#waiting.byteLength, framing.bytes - this.#kept));
    return this.#kept === framing.bytes ? this.#finish(head) : null;
  }

  #readChunks(head: Head): Answer | null {
    for (;;) {
      if (this.#chunkLeft !== null) {
        if (this.#chunkLeft > 2) this.#chunkLeft -= this.#keep(Math.min(this.#waiting.byteLength, this.#chunkLeft - 2));
        if (this.#chunkLeft > 2 || this.#waiting.byteLength < 2) return null;
        if (this.#waiting[0] !== 0x0d || this.#waiting[1] !== 0x0a) throw new Failure("http_malformed");
        this.#waiting = this.#waiting.subarray(2);
        this.#chunkLeft = null;
      }
      const end = this.#waiting.indexOf("\r\n");
      if (end > maxChunkLineBytes || (end < 0 && this.#waiting.byteLength > maxChunkLineBytes)) {
        throw new Failure("http_malformed");
      }
      if (end < 0) return null;
      const size = /^([0-9A-Fa-f]{1,8})(?:[ \t]*;.*)?$/.exec(this.#waiting.toString("latin1", 0, end))?.[1];
      if (size === undefined) throw new Failure("http_malformed");
      const bytes = Number.parseInt(size, 16);
      // The body is whole; trailers carry nothing that we read.
      if (bytes === 0) return this.#finish(head);
      if (this.#kept + bytes > this.#maxBytes) throw new Failure("http_result_limit");
      this.#waiting = this.#waiting.subarray(end + 2);
      this.#chunkLeft = bytes + 2;
    }
  }

  #keep(bytes: number): number {
    if (this.#kept + bytes > this.#maxBytes) throw new Failure("http_result_limit");
    if (bytes > 0) this.#body.push(this.#waiting.subarray(0, bytes));
    this.#waiting = this.#waiting.subarray(bytes);
    this.#kept += bytes;
    return bytes;
  }

  #finish(head: Head): Answer {
    this.#done = { status: head.status, headers: head.headers, body: Buffer.concat(this.#body) };
    return this.#done;
  }
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Failure("http_malformed");
    const key = name.toLowerCase();
    // Two lengths that differ are how one answer is read as two.
    if (key in headers && /^(content-length|transfer-encoding)$/.test(key)) throw new Failure("http_malformed");
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  return headers;
}
