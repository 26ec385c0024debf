// Reads a stream to its end and keeps no more than a bound. What comes after the bound is still drained, because a
// writer that is blocked on a full pipe would never end by itself.

/** What was kept, and whether there was more than that. */
export interface BoundedBytes {
  readonly bytes: Uint8Array;
  readonly overflow: boolean;
}

export interface BoundedReadOptions {
  readonly maxBytes: number;
  /** Called once, at the first byte over the bound. */
  readonly onOverflow?: () => void;
  /** Stops the reading early; what was kept so far is the answer. */
  readonly until?: Promise<unknown>;
}

/** Reads until the end, the stream's own failure (which counts as its end) or `until`. */
export async function readBounded(
  stream: ReadableStream<Uint8Array>,
  options: BoundedReadOptions,
): Promise<BoundedBytes> {
  const reader = stream.getReader();
  const stopped = options.until?.then(() => "stopped" as const);
  const parts: Uint8Array[] = [];
  let kept = 0;
  let overflow = false;
  for (;;) {
    // A pipe that breaks in the middle has told all it will ever tell.
    const next = reader.read().catch(() => null);
    const got = await (stopped === undefined ? next : Promise.race([next, stopped]));
    if (got === null || got === "stopped" || got.done) break;
    const room = options.maxBytes - kept;
    const part = got.value.byteLength > room ? got.value.subarray(0, room) : got.value;
    if (part.byteLength > 0) parts.push(part);
    kept += part.byteLength;
    if (got.value.byteLength > room && !overflow) {
      overflow = true;
      options.onOverflow?.();
    }
  }
  // Nobody reads on: let go, so that the other end sees a closed pipe instead of a full one.
  void reader.cancel().catch(() => undefined);
  return { bytes: joined(parts, kept), overflow };
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}
