// The consumer's event stream, reduced to what the rules ask: names against the expected ones, digests of texts.
// No text of the subject is kept. Frames and items that mean nothing to a rule are passed over.
import { sha256Hex } from "../base/bytes.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { ConsumerFacts, ConsumerFrameFact } from "../contract/report.ts";
import { judgeLimits } from "./limits.ts";

export const consumerServerName = "bidirectional";
export const consumerToolName = "read_files";

/** What an honest turn reads and answers: texts of the fixture files by path inside the project. */
export interface ConsumerExpectation {
  readonly project: string;
  readonly files: Readonly<Record<string, string>>;
}

type CallFact = NonNullable<ConsumerFrameFact["call"]>;
type ItemFact = CallFact["items"][number];

const itemEvents = ["item.started", "item.updated", "item.completed", "item.failed"];
const turnEvents = ["turn.started", "turn.completed", "turn.failed"];
const itemKinds = ["command_execution", "file_change", "web_search", "mcp_tool_call", "agent_message"];
const lifecycleKeys = ["session_id", "attempt_ref", "_wc"];

/** Every `key=value` line of the fixture files: the one right answer. */
export function expectedAnswer(files: Readonly<Record<string, string>>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const text of Object.values(files))
    for (const line of text.split(/\r?\n/)) {
      const at = line.indexOf("=");
      if (at >= 0) values[line.slice(0, at)] = line.slice(at + 1);
    }
  return values;
}

/** The expectation as it stands in the report: digests instead of texts. */
export function expectedFacts(expectation: ConsumerExpectation): ConsumerFacts["expected"] {
  const files = Object.entries(expectation.files).map(([path, text]) => [path, sha256Hex(text)]);
  return { project: expectation.project, files: Object.fromEntries(files) };
}

/** Reduces the whole stream. Equal neighbours are kept once; what does not fit is counted, never dropped silently. */
export function reduceFrames(
  frames: readonly unknown[],
  expectation: ConsumerExpectation,
): { frames: ConsumerFrameFact[]; notKept: number } {
  const kept: ConsumerFrameFact[] = [];
  let notKept = 0;
  for (const frame of frames) {
    const fact = reduceFrame(frame, expectation);
    if (fact === null) continue;
    if (sameMessage(kept.at(-1), fact)) kept[kept.length - 1] = fact;
    else if (kept.length < judgeLimits.consumerFrames) kept.push(fact);
    else notKept += 1;
  }
  return { frames: kept, notKept };
}

/** One event, or null when no rule asks about it. */
export function reduceFrame(frame: unknown, expectation: ConsumerExpectation): ConsumerFrameFact | null {
  if (!isRecord(frame) || typeof frame["type"] !== "string") return null;
  const event = frame["type"];
  const nothing = { item: null, id: null, server: null, tool: null, call: null, answer: null };
  if (turnEvents.includes(event)) return { event, ...nothing };
  const item = frame["item"];
  if (!itemEvents.includes(event) || !isRecord(item)) return null;
  const kind = item["type"];
  if (typeof kind !== "string" || !itemKinds.includes(kind)) return null;
  const isCall = kind === "mcp_tool_call";
  const done = event === "item.completed";
  return {
    event,
    item: kind,
    id: shortWord(item["id"]),
    server: isCall ? compared(item["server"], consumerServerName) : null,
    tool: isCall ? compared(item["tool"], consumerToolName) : null,
    call: isCall && done ? reduceCall(item, expectation) : null,
    answer: kind === "agent_message" && done ? answerOf(item["text"], expectation) : null,
  };
}

/** The last message of a turn against the one right answer; a single enclosing fence is taken off. */
export function answerOf(text: unknown, expectation: ConsumerExpectation): "equal" | "different" | "not_json" {
  let final = (typeof text === "string" ? text : "").trim();
  if (final.startsWith("```") && final.endsWith("```")) final = final.split(/\r?\n/).slice(1, -1).join("\n");
  const value = parseJson(final);
  if (value === undefined) return "not_json";
  const expected = expectedAnswer(expectation.files);
  const names = Object.keys(expected);
  const equal =
    isRecord(value) &&
    Object.keys(value).length === names.length &&
    names.every((name) => Object.hasOwn(value, name) && value[name] === expected[name]);
  return equal ? "equal" : "different";
}

function sameMessage(before: ConsumerFrameFact | undefined, now: ConsumerFrameFact): boolean {
  if (before === undefined || now.call !== null || before.call !== null) return false;
  return JSON.stringify({ ...before, id: null }) === JSON.stringify({ ...now, id: null });
}

function compared(value: unknown, expected: string): "expected" | "other" | null {
  if (value === undefined || value === null) return null;
  return value === expected ? "expected" : "other";
}

function shortWord(value: unknown): string | null {
  return typeof value === "string" && /^[A-Za-z0-9_.:-]{1,100}$/.test(value) ? value : null;
}

function reduceCall(item: Record<string, unknown>, expectation: ConsumerExpectation): CallFact {
  const given = typeof item["arguments"] === "string" ? parseJson(item["arguments"]) : item["arguments"];
  const words = isRecord(given) ? given : {};
  const result = item["result"];
  const structured = isRecord(result) ? structuredOf(result) : undefined;
  const output = isRecord(structured) && isRecord(structured["output"]) ? structured["output"] : {};
  const items = Array.isArray(output["items"]) ? output["items"] : [];
  return {
    status: shortWord(item["status"]),
    has_error: Boolean(item["error"]),
    has_result: isRecord(result),
    project: words["project"] === expectation.project ? "same" : "other",
    lifecycle_keys: lifecycleKeys.filter((key) => Object.hasOwn(words, key)),
    structured: structured === undefined ? "missing" : "present",
    success: isRecord(structured) && structured["success"] === true,
    failed_count_zero: output["failed_count"] === 0 && items.length <= judgeLimits.readItems,
    items: items.slice(0, judgeLimits.readItems).map((value) => reduceItem(value, expectation)),
  };
}

/** `structured_content`, else `structuredContent`, else the only text block that is an object with `success`. */
function structuredOf(result: Record<string, unknown>): unknown {
  const direct = result["structured_content"] ?? result["structuredContent"];
  if (direct !== undefined && direct !== null) return direct;
  const blocks = Array.isArray(result["content"]) ? result["content"] : [];
  const candidates = blocks
    .filter((block) => isRecord(block) && block["type"] === "text" && typeof block["text"] === "string")
    .map((block) => parseJson((block as { text: string }).text))
    .filter((value) => isRecord(value) && "success" in value);
  return candidates.length === 1 ? candidates[0] : undefined;
}

function reduceItem(value: unknown, expectation: ConsumerExpectation): ItemFact {
  const item = isRecord(value) ? value : {};
  const file = isRecord(item["output"]) ? item["output"] : {};
  const path = file["path"] ?? item["path"];
  const known = typeof path === "string" && Object.hasOwn(expectation.files, path);
  return {
    success: item["success"] === true,
    path: known ? path : null,
    numbered: file["format"] === "numbered",
    from_first_line: file["start_line"] === 1,
    has_more: Boolean(file["has_more"]),
    text_sha256: typeof file["text"] === "string" ? sha256Hex(file["text"]) : null,
  };
}
