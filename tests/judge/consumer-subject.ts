// An honest consumer's stream for the judges' tests, and small makers of one changed event.

import { sha256Hex } from "../../src/base/bytes.ts";
import type { ConsumerFacts } from "../../src/contract/report.ts";
import { expectedFacts, reduceFrames } from "../../src/judge/consumer-frames.ts";

export const alphaPath = "tests/fixtures/agent-loop-multi-file/alpha.txt";
export const betaPath = "tests/fixtures/agent-loop-multi-file/beta.txt";
export const alpha = "BENCH_TARGET_ALPHA=a1\nALPHA_UNRELATED_SENTINEL=a2\n";
export const beta = "BENCH_TARGET_BETA=b1\nBETA_UNRELATED_SENTINEL=b2\n";
export const expectation = { project: "agent:client:fixture", files: { [alphaPath]: alpha, [betaPath]: beta } };
export const answer = {
  BENCH_TARGET_ALPHA: "a1",
  ALPHA_UNRELATED_SENTINEL: "a2",
  BENCH_TARGET_BETA: "b1",
  BETA_UNRELATED_SENTINEL: "b2",
};

export type Item = Record<string, unknown>;

export function completed(item: Item): Item {
  return { type: "item.completed", item: { id: "item_1", ...item } };
}

export function message(text: string): Item {
  return completed({ type: "agent_message", text });
}

export function read(path: string, text: string, change: Item = {}): Item {
  const output = { path, text, start_line: 1, has_more: false, read_revision: "r1", ...change };
  return { success: true, path, output };
}

export function result(items: readonly unknown[], change: Item = {}): Item {
  return { structured_content: { success: true, output: { failed_count: 0, items, ...change } } };
}

export const goodReads = [read(alphaPath, alpha), read(betaPath, beta)];

/** A completed read of both files, with fields of the item changed. */
export function call(change: Item = {}): Item {
  return completed({
    type: "mcp_tool_call",
    server: "bidirectional",
    tool: "read_files",
    arguments: { project: expectation.project, files: [] },
    status: "completed",
    error: null,
    result: result(goodReads),
    ...change,
  });
}

export const turnStarted = { type: "turn.started" };
export const turnCompleted = { type: "turn.completed", usage: {} };
export const turnFailed = { type: "turn.failed", error: { message: "m" } };

/** An honest stream with events put in before and after the read. */
export function stream(parts: { before?: Item[]; calls?: Item[]; after?: Item[]; final?: Item[] } = {}): Item[] {
  const { before = [], calls = [call()], after = [], final = [message(JSON.stringify(answer)), turnCompleted] } = parts;
  return [{ type: "thread.started", thread_id: "t" }, turnStarted, ...before, ...calls, ...after, ...final];
}

const none = { sessions: 0, goals: 0, agents: 0, tasks: 0 };

/** Facts of a turn with this stream; everything else honest unless changed. */
export function factsOf(frames: readonly Item[], change: Partial<ConsumerFacts> = {}): ConsumerFacts {
  const reduced = reduceFrames(frames, expectation);
  const row = (path: string, text: string) => ({
    tool: "read_files",
    project: expectation.project,
    path,
    text_sha256: sha256Hex(text),
  });
  return {
    ended: "exited",
    exit_code: 0,
    signal: null,
    stream: {
      over_limit: false,
      malformed_lines: 0,
      not_object_lines: 0,
      cut_last_line: false,
      frames_not_kept: reduced.notKept,
    },
    frames: reduced.frames,
    expected: expectedFacts(expectation),
    receipts: [row(alphaPath, alpha), row(betaPath, beta)],
    fixture_unchanged: true,
    lifecycle_before: none,
    lifecycle_after: none,
    ...change,
  };
}
