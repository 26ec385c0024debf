// One consumer process: started in its own session, fed its prompt, bounded while it runs, and reduced to facts.
import { closeSync, statSync } from "node:fs";
import { join } from "node:path";
import { DiagnosticCounter, diagnosticCategories } from "../base/diagnostics.ts";
import { Failure } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { LineSplitter } from "../base/lines.ts";
import { openPrivateLog, readPrivateFile } from "../base/private-files.ts";
import type { ProcessGroup } from "../base/process-group.ts";
import { startNoted } from "../base/start-gate.ts";
import type { ConsumerFacts } from "../contract/report.ts";
import type { HarnessCode } from "./codes.ts";
import { harnessLimits } from "./limits.ts";
import { printedStream } from "./printed.ts";
import type { Run } from "./run.ts";

export interface ConsumerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly prompt: string;
}

export type ConsumerEnd = Pick<ConsumerFacts, "ended" | "exit_code" | "signal">;

/** Path of the consumer's raw stream; it is gone when the stage has ended. */
export function streamPath(run: Run): string {
  return join(run.space.private, "consumer.jsonl");
}

/** Runs the consumer to its end, its deadline or its output limit. */
export async function runConsumer(run: Run, command: ConsumerCommand): Promise<ConsumerEnd> {
  const path = streamPath(run);
  const output = openPrivateLog(path);
  const group = start(run, command, output);
  run.consumer = group;
  run.fault?.endConsumer(group);
  const counter = new DiagnosticCounter();
  const drained = drain(group.stderr, counter, printedStream(run, "consumer_stderr"));
  run.book.consumer["pid"] = group.pid;
  run.book.checkpoint("consumer_running");
  await feed(group, command.prompt);
  const ended = await waitForEnd(run, group, () => ({ out: statSync(path).size, err: counter.bytesSeen }));
  // A grandchild may keep the pipe; it is waited for no longer than this.
  await Promise.race([drained, Bun.sleep(harnessLimits.drainGraceMs)]);
  run.book.consumer["diagnostics"] = diagnosticsOf(counter);
  if (ended !== "exited") return { ended, exit_code: null, signal: null };
  const exit = await group.exited;
  run.book.consumer["exit_code"] = exit.code;
  return { ended: "exited", exit_code: exit.code, signal: exit.signal };
}

/** Reads the finished stream as lines of objects, framed on byte 0x0A only. */
export function readStream(path: string): {
  frames: unknown[];
  stream: Omit<ConsumerFacts["stream"], "frames_not_kept">;
} {
  const stream = { over_limit: false, malformed_lines: 0, not_object_lines: 0, cut_last_line: false };
  if (statSync(path).size > harnessLimits.consumerStdoutBytes)
    return { frames: [], stream: { ...stream, over_limit: true } };
  const splitter = new LineSplitter({ maxLineBytes: harnessLimits.consumerLineBytes });
  const lines = splitter.push(readPrivateFile(path, { maxBytes: harnessLimits.consumerStdoutBytes }));
  const frames: unknown[] = [];
  for (const line of lines) {
    if (isBlank(line)) continue;
    const value = parseJson(line);
    if (value === undefined) stream.malformed_lines += 1;
    else if (!isRecord(value)) stream.not_object_lines += 1;
    else frames.push(value);
  }
  const rest = splitter.rest();
  if (rest !== null && !isBlank(rest)) {
    const value = parseJson(rest);
    if (isRecord(value)) frames.push(value);
    else stream.cut_last_line = true;
  }
  return { frames, stream };
}

/** Counts with every category present, as the report shows them. */
export function diagnosticsOf(counter: DiagnosticCounter): Record<string, unknown> {
  const zero = Object.fromEntries(diagnosticCategories.map((name) => [name, 0]));
  return { bytes_seen: counter.bytesSeen, categories: { ...zero, ...counter.counts() } };
}

function start(run: Run, { command, args, env }: ConsumerCommand, output: number): ProcessGroup {
  try {
    if (run.closing) throw new Failure<HarnessCode>("harness_interrupted");
    const cwd = run.space.project;
    return startNoted({ command, args, cwd, env, stdin: "pipe", stdout: output, stderr: "pipe" }, (id) =>
      run.census.note(id, "consumer"),
    );
  } catch (error) {
    throw new Failure<HarnessCode>("harness_process_start_failed", { cause: error });
  } finally {
    closeSync(output);
  }
}

async function feed(group: ProcessGroup, prompt: string): Promise<void> {
  try {
    group.stdin?.write(prompt);
    await group.stdin?.end();
  } catch {
    // A consumer that ended without reading is judged by how it ended.
  }
}

async function drain(
  stream: ReadableStream<Uint8Array> | undefined,
  counter: DiagnosticCounter,
  look: (chunk: Uint8Array) => void,
): Promise<void> {
  if (stream === undefined) return;
  try {
    for await (const chunk of stream) {
      counter.push(chunk);
      look(chunk);
    }
  } catch {
    // The pipe broke with its process; what came before is counted.
  }
}

/** The leader's end is the consumer's end; what it left in its group is ended by the clean-up of the stage. */
async function waitForEnd(
  run: Run,
  group: ProcessGroup,
  sizes: () => { out: number; err: number },
): Promise<"exited" | "deadline" | "output_limit"> {
  const started = performance.now();
  let leaderEnded = false;
  const end = group.exited.then(() => {
    leaderEnded = true;
  });
  for (;;) {
    const { out, err } = sizes();
    if (leaderEnded) return err > harnessLimits.consumerStderrBytes ? "output_limit" : "exited";
    if (out > harnessLimits.consumerStdoutBytes || err > harnessLimits.consumerStderrBytes) return "output_limit";
    if (performance.now() - started >= run.limits.consumerDeadlineMs) return "deadline";
    await Promise.race([end, Bun.sleep(harnessLimits.consumerPollMs), run.stopped]);
  }
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
