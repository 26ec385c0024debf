// The payload a host writes to a hook. It is read to its end on every path, so that the host never meets a closed
// pipe; what is over the limit is thrown away within bounds of bytes and time.
import { concatBytes, decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";
import { hookLimits } from "./limits.ts";
import { parseExact } from "./python-json.ts";

export interface HookInput {
  readonly bytes: Uint8Array;
  readonly overLimit: boolean;
  /** False when the host did not close the input in time. */
  readonly ended: boolean;
}

/** Reads a whole payload, keeping at most the limit. */
export async function readHookInput(stream: ReadableStream<Uint8Array>): Promise<HookInput> {
  const reader = stream.getReader();
  const kept: Uint8Array[] = [];
  let total = 0;
  let endAt = performance.now() + hookLimits.inputDeadlineMs;
  for (;;) {
    const next = await before(endAt, reader.read());
    if (next === "late") return { bytes: concatBytes(kept), overLimit: total > hookLimits.maxInputBytes, ended: false };
    if (next.done) return { bytes: concatBytes(kept), overLimit: total > hookLimits.maxInputBytes, ended: true };
    const wasWithin = total <= hookLimits.maxInputBytes;
    total += next.value.length;
    if (total <= hookLimits.maxInputBytes) kept.push(next.value);
    else if (wasWithin) {
      kept.length = 0;
      endAt = Math.min(endAt, performance.now() + hookLimits.maxDiscardMs);
    }
    if (total > hookLimits.maxDiscardBytes) return { bytes: new Uint8Array(), overLimit: true, ended: false };
  }
}

async function before<T>(endAt: number, work: Promise<T>): Promise<T | "late"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), Math.max(0, endAt - performance.now()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The payload as JSON. Byte order marks in front are dropped; anything else that is no JSON object is refused. */
export function parsePayload(input: HookInput, tooLarge: HooksCode): Record<string, unknown> {
  if (input.overLimit) throw new Failure<HooksCode>(tooLarge);
  if (!input.ended) throw new Failure<HooksCode>("hook_input_deadline");
  const text = decodeUtf8(input.bytes);
  const value = text === null ? undefined : parseExact(text.replace(/^\ufeff+/, ""));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Failure<HooksCode>("invalid_hook_payload");
  }
  return value as Record<string, unknown>;
}
