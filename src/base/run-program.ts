// Runs one program to its end with a deadline and a bound on what it may say. Whatever happens, its whole group is
// ended before the answer is given, so a grandchild that holds the pipe open cannot hold us.

import { type BoundedBytes, readBounded } from "./bounded-read.ts";
import type { ProcessId } from "./census.ts";
import { codeOf } from "./failure.ts";
import { type ProcessGroup, startGroup } from "./process-group.ts";
import { startNoted } from "./start-gate.ts";

export interface RunProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array | string;
  readonly timeoutMs: number;
  /** For stdout and stderr each. */
  readonly maxOutputBytes: number;
  /** For whoever keeps a list of what he started: the program, an absolute path, begins once this came back. */
  readonly note?: (id: ProcessId) => void;
}

export interface RunProgramResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly timedOut: boolean;
  readonly overflow: boolean;
  /** False when the program could not be executed at all. */
  readonly started: boolean;
}

/** How long output may still arrive once the leader has ended, for a grandchild that keeps the pipe. */
const drainMs = 2_000;
const stopLimits = { termMs: 500, killMs: 2_000 };
const nothing = new Uint8Array(0);

/** Never throws for what the program does; the caller weighs the result. */
export async function runProgram(options: RunProgramOptions): Promise<RunProgramResult> {
  let started: ProcessGroup;
  try {
    const stdin = options.stdin === undefined ? "ignore" : "pipe";
    const group = { ...options, stdin, stdout: "pipe", stderr: "pipe" } as const;
    started = options.note === undefined ? startGroup(group) : startNoted(group, options.note);
  } catch (error) {
    if (codeOf(error) !== "program_not_started") throw error;
    const ended = { code: null, signal: null, stdout: nothing, stderr: nothing };
    return { ...ended, timedOut: false, overflow: false, started: false };
  }
  return await finish(started, options);
}

async function finish(group: ProcessGroup, options: RunProgramOptions): Promise<RunProgramResult> {
  let timedOut = false;
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    timedOut = true;
    over.resolve();
  }, options.timeoutMs);
  const closing = Promise.withResolvers<void>();
  const read = (stream?: ReadableStream<Uint8Array>): Promise<BoundedBytes> =>
    stream === undefined
      ? Promise.resolve({ bytes: nothing, overflow: false })
      : readBounded(stream, { maxBytes: options.maxOutputBytes, onOverflow: over.resolve, until: closing.promise });
  const outputs = Promise.all([read(group.stdout), read(group.stderr)]);
  if (options.stdin !== undefined) void feed(group, options.stdin);

  await Promise.race([group.exited, over.promise]);
  clearTimeout(timer);
  await within(Promise.race([outputs, over.promise]), group.running() ? 0 : drainMs);
  await group.stop(stopLimits);
  await within(outputs, drainMs);
  closing.resolve();

  const [stdout, stderr] = await outputs;
  const { code, signal } = await group.exited;
  const overflow = stdout.overflow || stderr.overflow;
  return { code, signal, stdout: stdout.bytes, stderr: stderr.bytes, timedOut, overflow, started: true };
}

/** Waits no longer than this; a timer left behind would keep this process alive after its work. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
}

async function feed(group: ProcessGroup, input: Uint8Array | string): Promise<void> {
  try {
    group.stdin?.write(input);
    await group.stdin?.flush();
    await group.stdin?.end();
  } catch {
    // A program that does not want its input closes the pipe; its exit status is what counts.
  }
}
