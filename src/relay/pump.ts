// Moves bytes one way, in runs of whole frames, and waits for the reader before it takes more. A frame over the
// limit is not begun; a last line without newline is passed on as it is.

import { relayLimits } from "./limits.ts";

const newline = 0x0a;

/** Bytes that arrive as whole frames, or word that one got too long. */
export class FrameRuns {
  #parts: Buffer[] = [];
  #kept = 0;

  /** Whole frames that the chunk completes (possibly none), and whether the frame after them is over the limit. */
  push(chunk: Buffer): { readonly run: Buffer | null; readonly over: boolean } {
    let whole = 0;
    let from = -this.#kept;
    // Only a chunk that could hold an oversized frame is walked newline by newline.
    if (this.#kept + chunk.byteLength <= relayLimits.frameBytes) whole = chunk.lastIndexOf(newline) + 1;
    else {
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, whole)) {
        if (at + 1 - from > relayLimits.frameBytes) return { run: this.#wholePart(chunk, whole), over: true };
        whole = at + 1;
        from = whole;
      }
    }
    const run = this.#wholePart(chunk, whole);
    const rest = chunk.subarray(whole);
    if (this.#kept + rest.byteLength > relayLimits.frameBytes) return { run, over: true };
    if (rest.byteLength > 0) {
      this.#parts.push(Buffer.from(rest));
      this.#kept += rest.byteLength;
    }
    return { run, over: false };
  }

  /** What is left at the end of the stream. */
  rest(): Buffer | null {
    return this.#kept === 0 ? null : this.#take(Buffer.alloc(0));
  }

  /** Without a newline in the chunk, what was kept is the start of a frame that is not whole yet. */
  #wholePart(chunk: Buffer, whole: number): Buffer | null {
    return whole === 0 ? null : this.#take(chunk.subarray(0, whole));
  }

  #take(end: Buffer): Buffer | null {
    if (end.byteLength === 0 && this.#kept === 0) return null;
    if (this.#kept === 0) return end;
    if (end.byteLength === 0 && this.#parts.length === 1) {
      const only = this.#parts[0] ?? end;
      this.#clear();
      return only;
    }
    const run = Buffer.concat([...this.#parts, end]);
    this.#clear();
    return run;
  }

  #clear(): void {
    this.#parts = [];
    this.#kept = 0;
  }
}

export interface PumpOptions {
  /** Called with whole frames before any of their bytes is passed on. */
  readonly before: (frames: Buffer) => void;
}

/** One direction. `readingSinceMs` tells since when it has been waiting for its source. */
export class Pump {
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #readingSinceMs: number | null = null;

  /** Runs to the end of the source; a reader that is gone ends it quietly. */
  async run(
    source: ReadableStream<Uint8Array>,
    sink: Bun.FileSink,
    options: PumpOptions,
  ): Promise<"ended" | "reader_gone" | "frame_limit"> {
    const reader = source.getReader();
    this.#reader = reader;
    const runs = new FrameRuns();
    for (;;) {
      this.#readingSinceMs = performance.now();
      // A source that breaks has ended.
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }) as const);
      this.#readingSinceMs = null;
      const { run, over } =
        done || value === undefined ? { run: runs.rest(), over: false } : runs.push(asBuffer(value));
      if (run !== null) {
        options.before(run);
        if (!(await passOn(sink, run))) {
          this.stop();
          return "reader_gone";
        }
      }
      if (over) {
        this.stop();
        return "frame_limit";
      }
      if (done) return "ended";
    }
  }

  /** Whether the source has said nothing for this long, with everything it said passed on. */
  quietFor(ms: number): boolean {
    return this.#readingSinceMs !== null && performance.now() - this.#readingSinceMs >= ms;
  }

  /** Ends the source's pipe, so that whoever writes there learns of it. */
  stop(): void {
    void this.#reader?.cancel().catch(() => undefined);
  }
}

async function passOn(sink: Bun.FileSink, bytes: Buffer): Promise<boolean> {
  try {
    // Either call may be the one that meets the closed pipe, now or later.
    await sink.write(bytes);
    await sink.flush();
    return true;
  } catch {
    // Closed by the other side; this direction is over and the other one goes on.
    return false;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
