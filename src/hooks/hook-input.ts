// The payload a host writes to a hook. It is read to its end on every path, so that the host never meets a closed
// pipe; what is over the limit is thrown away within bounds of bytes and time. What is there already is read at once;
// only a host that is still writing is waited for.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { concatBytes, decodeUtf8 } from "../base/bytes.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { HooksCode } from "./codes.ts";
import { hookLimits } from "./limits.ts";

export interface HookInput {
  readonly bytes: Uint8Array;
  readonly overLimit: boolean;
  /** False when the host did not close the input in time. */
  readonly ended: boolean;
}

interface Reading {
  readonly kept: Uint8Array[];
  total: number;
  endAt: number;
}

/** More than most payloads; a larger piece costs its zeroes in page faults. */
const pieceBytes = 16_384;
const standardInput = 0;

/** Reads the whole payload from standard input, keeping at most the limit. */
export async function readHookInput(stream: () => ReadableStream<Uint8Array>): Promise<HookInput> {
  const reading: Reading = { kept: [], total: 0, endAt: performance.now() + hookLimits.inputDeadlineMs };
  const ended = readReady(reading);
  if (ended || reading.total > hookLimits.maxDiscardBytes) return inputOf(reading, ended);
  return await readRest(reading, stream());
}

/** Takes what needs no waiting; true when that was all of it. */
function readReady(reading: Reading): boolean {
  const fd = openUnblocked();
  if (fd === null) return false;
  try {
    while (reading.total <= hookLimits.maxDiscardBytes && performance.now() < reading.endAt) {
      const piece = new Uint8Array(pieceBytes);
      const count = readSync(fd, piece, 0, pieceBytes, null);
      if (count === 0) return true;
      take(reading, piece.subarray(0, count));
    }
  } catch (error) {
    // Nothing there yet: the stream waits. Any other fault is met again, and judged, there.
    if (systemCodeOf(error) !== "EAGAIN") return false;
  } finally {
    if (fd !== standardInput) closeSync(fd);
  }
  return false;
}

/** A descriptor whose reads do not wait: a file as it is, a pipe opened once more; null where there is none. */
function openUnblocked(): number | null {
  if (process.platform !== "linux") return null;
  try {
    const found = fstatSync(standardInput);
    if (found.isFile()) return standardInput;
    // Opened again, so that the switch is ours and not that of whoever shares the pipe.
    if (found.isFIFO()) return openSync("/proc/self/fd/0", constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    // No standard input, or no /proc here: the stream reads it.
  }
  return null;
}

async function readRest(reading: Reading, stream: ReadableStream<Uint8Array>): Promise<HookInput> {
  const reader = stream.getReader();
  while (reading.total <= hookLimits.maxDiscardBytes) {
    const next = await before(reading.endAt, reader.read());
    if (next === "late") return inputOf(reading, false);
    if (next.done) return inputOf(reading, true);
    take(reading, next.value);
  }
  return inputOf(reading, false);
}

function take(reading: Reading, piece: Uint8Array): void {
  const wasWithin = reading.total <= hookLimits.maxInputBytes;
  reading.total += piece.length;
  if (reading.total <= hookLimits.maxInputBytes) reading.kept.push(piece);
  else if (wasWithin) {
    reading.kept.length = 0;
    reading.endAt = Math.min(reading.endAt, performance.now() + hookLimits.maxDiscardMs);
  }
}

function inputOf(reading: Reading, ended: boolean): HookInput {
  const [first] = reading.kept;
  const bytes = reading.kept.length === 1 ? first! : concatBytes(reading.kept);
  return { bytes, overLimit: reading.total > hookLimits.maxInputBytes, ended };
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
  const value = text === null ? undefined : parseJson(withoutMarks(text));
  if (!isRecord(value)) throw new Failure<HooksCode>("invalid_hook_payload");
  return value;
}

function withoutMarks(text: string): string {
  let at = 0;
  while (text.charCodeAt(at) === 0xfeff) at += 1;
  return at === 0 ? text : text.slice(at);
}
