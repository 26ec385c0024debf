// Judges the consumer's turn from recorded facts, in the seed's order: how it ended, everything it did,
// each completed read, the server's own receipts, the final answer, and what it left behind.
import { counted } from "../base/counted.ts";
import type { ConsumerFacts, ConsumerFrameFact, LifecycleCounts, Rule } from "../contract/report.ts";
import type { JudgeCode } from "./codes.ts";
import { consumerToolName } from "./consumer-frames.ts";
import { ended, notApplicable, notReached, passed, type RuleName } from "./rule.ts";

const names = {
  before: { rule: "consumer_lifecycle_before", where: "facts.consumer.lifecycle_before" },
  process: { rule: "consumer_process", where: "facts.consumer.ended" },
  stream: { rule: "consumer_stream", where: "facts.consumer.stream" },
  activity: { rule: "consumer_activity", where: "facts.consumer.frames" },
  turn: { rule: "consumer_turn", where: "facts.consumer.frames" },
  reads: { rule: "consumer_reads", where: "facts.consumer.frames" },
  served: { rule: "consumer_receipts", where: "facts.consumer.receipts" },
  answer: { rule: "consumer_answer", where: "facts.consumer.frames" },
  fixture: { rule: "consumer_fixture", where: "facts.consumer.fixture_unchanged" },
  after: { rule: "consumer_lifecycle_after", where: "facts.consumer.lifecycle_after" },
} as const satisfies Record<string, RuleName>;

type Call = NonNullable<ConsumerFrameFact["call"]>;

/** What a later event could have mended: where events were lost, these are not known to hold. */
const openToLater: ReadonlySet<JudgeCode> = new Set<JudgeCode>([
  "consumer_turn_incomplete",
  "consumer_turn_failed",
  "consumer_did_not_call_mcp",
  "consumer_missing_file_evidence",
  "consumer_final_message_missing",
  "consumer_answer_not_json",
  "consumer_report_mismatch",
]);

/** Every rule about the consumer. The first that does not hold gives the stage its code. */
export function judgeConsumer(facts: ConsumerFacts | null): Rule[] {
  if (facts === null) return Object.values(names).map(notReached);
  const seen = facts.ended !== "not_started";
  const look = (name: RuleName, code: JudgeCode | null, fact: string) =>
    !seen || (facts.stream.frames_not_kept > 0 && code !== null && openToLater.has(code))
      ? notReached(name)
      : code === null
        ? passed(name, fact)
        : ended(name, code, fact);
  const reads = completedCalls(facts.frames).flatMap((frame) => frame.call?.items ?? []).length;
  return [
    lifecycleRule(names.before, facts.lifecycle_before),
    look(
      names.process,
      processCode(facts) ?? leftCode(facts),
      `${facts.ended}, status ${facts.exit_code ?? facts.signal ?? "unknown"}`,
    ),
    look(names.stream, streamCode(facts), `${counted(facts.frames.length, "event")} kept`),
    look(names.activity, activityCode(facts.frames), `${counted(facts.frames.length, "event")}, looked at one by one`),
    look(names.turn, turnCode(facts.frames), "last word about a turn in the stream"),
    blamed(look(names.reads, readsCode(facts), `${counted(reads, "file")} in completed calls`), facts),
    servedRule(facts, seen),
    look(names.answer, answerCode(facts.frames), "last message against the values on disk"),
    fixtureRule(facts),
    lifecycleRule(names.after, facts.lifecycle_after),
  ];
}

/** How the process ended. */
export function processCode(facts: Pick<ConsumerFacts, "ended" | "exit_code">): JudgeCode | null {
  if (facts.ended === "deadline") return "consumer_deadline";
  if (facts.ended === "output_limit") return "consumer_output_limit";
  return facts.exit_code === 0 ? null : "consumer_process_failed";
}

/** What it started has to end with it. */
export function leftCode(facts: Pick<ConsumerFacts, "left_processes">): JudgeCode | null {
  return (facts.left_processes ?? 0) > 0 ? "consumer_left_process" : null;
}

/** Whether the log could be read as lines of objects, whole. */
export function streamCode(facts: Pick<ConsumerFacts, "stream">): JudgeCode | null {
  const { stream } = facts;
  if (stream.over_limit) return "structured_log_limit";
  if (stream.cut_last_line) return "structured_log_cut";
  if (stream.malformed_lines > 0) return "structured_log_malformed";
  if (stream.not_object_lines > 0) return "unexpected_jsonl_frame";
  return stream.frames_not_kept > 0 ? "structured_log_frames_lost" : null;
}

/** The whole history: what was only begun counts, and no later success takes it back. */
export function activityCode(frames: readonly ConsumerFrameFact[]): JudgeCode | null {
  for (const frame of frames) {
    if (frame.item === "command_execution" || frame.item === "file_change" || frame.item === "web_search")
      return "consumer_used_unrequested_tools";
    if (frame.item !== "mcp_tool_call") continue;
    if (frame.server === "other" || frame.tool === "other") return "consumer_called_wrong_mcp_tool";
    if (frame.event === "item.failed") return "consumer_mcp_call_failed";
  }
  return null;
}

/** The last turn has to be reported as completed; an exit status says nothing about it. */
export function turnCode(frames: readonly ConsumerFrameFact[]): JudgeCode | null {
  const last = frames.findLast((frame) => frame.event.startsWith("turn."))?.event;
  if (last === "turn.completed") return null;
  return last === "turn.failed" ? "consumer_turn_failed" : "consumer_turn_incomplete";
}

/** The completed tool calls of a stream, in order. */
export function completedCalls(frames: readonly ConsumerFrameFact[]): ConsumerFrameFact[] {
  return frames.filter((frame) => frame.event === "item.completed" && frame.item === "mcp_tool_call");
}

/** One completed call: routing, result, and each file it claims to have read. */
export function callCode(frame: ConsumerFrameFact, expected: ConsumerFacts["expected"]): JudgeCode | null {
  const { call } = frame;
  if (call === null || frame.server !== "expected" || frame.tool !== "expected")
    return "consumer_called_wrong_mcp_tool";
  if (call.project !== "same") return "consumer_project_mismatch";
  if (call.lifecycle_keys.length > 0) return "consumer_used_lifecycle_context";
  if (call.status !== "completed" || call.has_error || !call.has_result) return "consumer_mcp_call_failed";
  if (call.structured === "missing") return "consumer_missing_structured_tool_result";
  if (!call.success) return "consumer_webcodex_tool_unsuccessful";
  if (!call.failed_count_zero) return "consumer_file_read_failed";
  for (const item of call.items) {
    const code = itemCode(item, expected);
    if (code !== null) return code;
  }
  return null;
}

/** All calls one by one, then whether they cover both files. */
export function readsCode(facts: Pick<ConsumerFacts, "frames" | "expected">): JudgeCode | null {
  const calls = completedCalls(facts.frames);
  if (calls.length === 0) return "consumer_did_not_call_mcp";
  const read = new Set<string | null>();
  for (const frame of calls) {
    const code = callCode(frame, facts.expected);
    if (code !== null) return code;
    for (const item of frame.call?.items ?? []) read.add(item.path);
  }
  return Object.keys(facts.expected.files).every((path) => read.has(path)) ? null : "consumer_missing_file_evidence";
}

/** Each read in the stream has to be one that the server wrote down before it answered. */
export function servedCode(facts: Pick<ConsumerFacts, "frames" | "expected" | "receipts">): JudgeCode | null {
  const served = new Map<string, number>();
  for (const row of facts.receipts ?? []) {
    if (row.tool !== consumerToolName || row.project !== facts.expected.project) continue;
    const key = `${row.path}\0${row.text_sha256}`;
    served.set(key, (served.get(key) ?? 0) + 1);
  }
  for (const frame of completedCalls(facts.frames))
    for (const item of frame.call?.items ?? []) {
      const key = `${item.path}\0${item.text_sha256}`;
      const left = served.get(key) ?? 0;
      if (left === 0) return "consumer_receipt_not_served";
      served.set(key, left - 1);
    }
  return null;
}

/** The last message of the last turn; text of an earlier, failed turn is never the answer. */
export function answerCode(frames: readonly ConsumerFrameFact[]): JudgeCode | null {
  const start = frames.findLastIndex((frame) => frame.event === "turn.started");
  const final = frames.slice(start + 1).findLast((frame) => frame.answer !== null);
  if (final === undefined) return "consumer_final_message_missing";
  if (final.answer === "not_json") return "consumer_answer_not_json";
  return final.answer === "equal" ? null : "consumer_report_mismatch";
}

function itemCode(item: Call["items"][number], expected: ConsumerFacts["expected"]): JudgeCode | null {
  if (!item.success) return "consumer_read_item_failed";
  if (item.path === null || item.numbered || !Object.hasOwn(expected.files, item.path))
    return "consumer_unexpected_read_range";
  if (!item.from_first_line || item.has_more) return "consumer_incomplete_file_read";
  return item.text_sha256 === expected.files[item.path] ? null : "consumer_tool_result_mismatch";
}

/** Other bytes than those on disk that the server itself says it served are the server's doing. */
function blamed(rule: Rule, facts: ConsumerFacts): Rule {
  if (rule.code !== "consumer_tool_result_mismatch") return rule;
  const wrong = completedCalls(facts.frames)
    .flatMap((frame) => frame.call?.items ?? [])
    .filter((item) => item.path !== null && item.text_sha256 !== facts.expected.files[item.path]);
  const served = (item: (typeof wrong)[number]) =>
    (facts.receipts ?? []).some((row) => row.path === item.path && row.text_sha256 === item.text_sha256);
  return wrong.every(served) ? { ...rule, party: "server" } : rule;
}

function servedRule(facts: ConsumerFacts, seen: boolean): Rule {
  if (!seen) return notReached(names.served);
  if (facts.receipts === null) return notApplicable(names.served, "this control plane keeps no receipts");
  const fact = `${counted(facts.receipts.length, "read")} served, as the server wrote them down`;
  // A server that keeps no right receipt of our own read cannot speak for or against the consumer's.
  if (facts.control_receipt === "missing" || facts.control_receipt === "wrong")
    return ended(names.served, "server_receipts_not_kept", `the receipt of our own read was ${facts.control_receipt}`);
  const code = servedCode(facts);
  return code === null ? passed(names.served, fact) : ended(names.served, code, fact);
}

function fixtureRule(facts: ConsumerFacts): Rule {
  if (facts.fixture_unchanged === null) return notReached(names.fixture);
  return facts.fixture_unchanged
    ? passed(names.fixture, "git status was empty")
    : ended(names.fixture, "consumer_changed_fixture", "git status was not empty");
}

function lifecycleRule(name: RuleName, counts: LifecycleCounts | null): Rule {
  if (counts === null) return notReached(name);
  const total = counts.sessions + counts.goals + counts.agents + counts.tasks;
  return total === 0
    ? passed(name, "no session, goal, agent or task")
    : ended(name, "consumer_created_durable_lifecycle", `${total} entries`);
}
