// Every rule about the consumer: an honest turn holds, and each change breaks exactly the one code.
import { expect, test } from "bun:test";
import type { ConsumerFacts } from "../../src/contract/report.ts";
import { judgeConsumer, readsCode } from "../../src/judge/consumer.ts";
import { stageCode } from "../../src/judge/verdict.ts";
import {
  alpha,
  alphaPath,
  answer,
  beta,
  betaPath,
  call,
  completed,
  factsOf,
  goodReads,
  type Item,
  message,
  read,
  result,
  stream,
  turnCompleted,
  turnFailed,
  turnStarted,
} from "./consumer-subject.ts";

function codeOfStream(frames: Item[], change: Partial<ConsumerFacts> = {}): string | undefined {
  return stageCode(judgeConsumer(factsOf(frames, change)));
}

const final = message(JSON.stringify(answer));

test("an honest turn holds every rule", () => {
  const rules = judgeConsumer(factsOf(stream()));
  expect(rules.filter((rule) => rule.outcome !== "pass")).toEqual([]);
  expect(rules).toHaveLength(10);
});

test("H119: legal oddities pass: chatter, retries announced as errors, two reads in two calls, a recovered turn (B04 d)", () => {
  const one = (path: string, text: string) => call({ result: result([read(path, text)]) });
  const honest: Item[][] = [
    stream({
      before: [
        { type: "error", message: "retry 1/5" },
        completed({ type: "reasoning", text: "x" }),
        { type: "later.event" },
      ],
    }),
    stream({ calls: [one(alphaPath, alpha), one(betaPath, beta)] }),
    stream({ before: [{ type: "item.started", item: { type: "mcp_tool_call" } }, message("I read\u2028now")] }),
    [turnStarted, message("half"), turnFailed, ...stream()],
  ];
  for (const frames of honest) expect(codeOfStream(frames)).toBeUndefined();
});

test("H116: a shell, a file change or a web search in any event, before, after or instead of a good read", () => {
  for (const type of ["command_execution", "file_change", "web_search"])
    for (const event of ["item.started", "item.updated", "item.completed", "item.failed"]) {
      const bad = { type: event, item: { id: "item_9", type } };
      for (const frames of [stream({ before: [bad] }), stream({ after: [bad] }), stream({ calls: [bad] })])
        expect(codeOfStream(frames)).toBe("consumer_used_unrequested_tools");
    }
});

test("H117 H118 H120: other names and failed calls anywhere, before receipts are judged", () => {
  const event = (type: string, item: Item) => ({ type, item: { type: "mcp_tool_call", ...item } });
  expect(codeOfStream(stream({ before: [event("item.started", { server: "x" })] }))).toBe(
    "consumer_called_wrong_mcp_tool",
  );
  expect(codeOfStream(stream({ before: [event("item.updated", { tool: "x" })] }))).toBe(
    "consumer_called_wrong_mcp_tool",
  );
  expect(codeOfStream(stream({ before: [event("item.failed", {})] }))).toBe("consumer_mcp_call_failed");
  expect(codeOfStream(stream({ after: [event("item.failed", {})] }))).toBe("consumer_mcp_call_failed");
  expect(codeOfStream(stream({ before: [event("item.started", {})] }))).toBeUndefined();
  const both = stream({
    after: [{ type: "item.started", item: { type: "web_search" } }],
    calls: [call({ arguments: {} })],
  });
  expect(codeOfStream(both)).toBe("consumer_used_unrequested_tools");
});

const reads = (change: Item) => call({ result: result([read(alphaPath, alpha, change), read(betaPath, beta)]) });
const broken: Array<[rows: string, code: string, calls: Item[]]> = [
  ["H121", "consumer_did_not_call_mcp", []],
  ["H122 server left out", "consumer_called_wrong_mcp_tool", [call({ server: undefined })]],
  ["H122 tool left out", "consumer_called_wrong_mcp_tool", [call({ tool: undefined })]],
  ["H123 no object", "consumer_project_mismatch", [call({ arguments: "text" })]],
  ["H123 other project", "consumer_project_mismatch", [call({ arguments: { project: "agent:client:other" } })]],
  ...["session_id", "attempt_ref", "_wc"].map((key): [string, string, Item[]] => [
    `H124 ${key}`,
    "consumer_used_lifecycle_context",
    [call({ arguments: { project: "agent:client:fixture", [key]: null } })],
  ]),
  ["H125 status (B05)", "consumer_mcp_call_failed", [call({ status: "failed" }), call()]],
  ["H125 error", "consumer_mcp_call_failed", [call({ error: { message: "m" } })]],
  ["H125 no result", "consumer_mcp_call_failed", [call({ result: null })]],
  ["H127", "consumer_missing_structured_tool_result", [call({ result: { content: [] } })]],
  ["H128", "consumer_webcodex_tool_unsuccessful", [call({ result: { structured_content: { success: "yes" } } })]],
  ["H128 no object", "consumer_webcodex_tool_unsuccessful", [call({ result: { structured_content: "text" } })]],
  ["H129 one failed", "consumer_file_read_failed", [call({ result: result(goodReads, { failed_count: 1 }) })]],
  ["H129 missing", "consumer_file_read_failed", [call({ result: result(goodReads, { failed_count: undefined }) })]],
  ["H130", "consumer_read_item_failed", [call({ result: result([{ ...read(alphaPath, alpha), success: false }]) })]],
  ["H131 other path", "consumer_unexpected_read_range", [call({ result: result([read("README.md", "x")]) })]],
  ["H131 numbered", "consumer_unexpected_read_range", [reads({ format: "numbered" })]],
  ["H132 start", "consumer_incomplete_file_read", [reads({ start_line: 2 })]],
  ["H132 more", "consumer_incomplete_file_read", [reads({ has_more: true })]],
  ["H133 truncated", "consumer_tool_result_mismatch", [reads({ text: alpha.slice(0, -1) })]],
  ["H133 one byte", "consumer_tool_result_mismatch", [reads({ text: alpha.replace("a1", "a3") })]],
  ["H133 no text", "consumer_tool_result_mismatch", [reads({ text: undefined })]],
  ["H136", "consumer_missing_file_evidence", [call({ result: result([read(alphaPath, alpha)]) })]],
];
for (const [rows, code, calls] of broken)
  test(`${rows}: ${code}`, () => {
    expect(codeOfStream(stream({ calls }))).toBe(code);
  });

test("64 files of one call are looked at; a call with 65 is not taken as read", () => {
  const reading = (count: number) =>
    stream({ calls: [call({ result: result(Array.from({ length: count }, (_, at) => goodReads[at % 2]!)) })] });
  expect(readsCode(factsOf(reading(64)))).toBeNull();
  expect(readsCode(factsOf(reading(65)))).toBe("consumer_file_read_failed");
});

test("H131: the path is the output's, else the item's", () => {
  const item = { success: true, path: alphaPath, output: { text: alpha, start_line: 1 } };
  expect(codeOfStream(stream({ calls: [call({ result: result([item, read(betaPath, beta)]) })] }))).toBeUndefined();
});

test("a read in the stream that the server never served is a forged receipt", () => {
  const facts = factsOf(stream());
  const rows = facts.receipts!;
  const forged: Array<ConsumerFacts["receipts"]> = [
    [],
    rows.slice(1),
    rows.map((row) => ({ ...row, project: "other" })),
    rows.map((row) => ({ ...row, tool: "other" })),
    rows.map((row) => ({ ...row, text_sha256: "0".repeat(64) })),
  ];
  for (const receipts of forged) expect(codeOfStream(stream(), { receipts })).toBe("consumer_receipt_not_served");
  expect(codeOfStream(stream({ calls: [call(), call()] }))).toBe("consumer_receipt_not_served");
  expect(codeOfStream(stream(), { receipts: [...rows, ...rows] })).toBeUndefined();
});

test("a control plane without receipts leaves the rule open and the stage unharmed", () => {
  const rules = judgeConsumer(factsOf(stream(), { receipts: null }));
  expect(rules.find((rule) => rule.rule === "consumer_receipts")?.outcome).toBe("not_applicable");
  expect(stageCode(rules)).toBeUndefined();
});

test("H137 H139 H140: the last message of the last turn decides", () => {
  const wrong = message(JSON.stringify({ ...answer, EXTRA: "1" }));
  expect(codeOfStream(stream({ final: [turnCompleted] }))).toBe("consumer_final_message_missing");
  expect(codeOfStream(stream({ final: [wrong, final, turnCompleted] }))).toBeUndefined();
  expect(codeOfStream(stream({ final: [final, wrong, turnCompleted] }))).toBe("consumer_report_mismatch");
  expect(codeOfStream(stream({ final: [message("done"), turnCompleted] }))).toBe("consumer_answer_not_json");
});

test("B04: a failed, unfinished or cut turn is never a pass, whatever the exit status", () => {
  expect(codeOfStream(stream({ final: [final, turnFailed] }))).toBe("consumer_turn_failed");
  expect(codeOfStream([turnStarted])).toBe("consumer_turn_incomplete");
  expect(codeOfStream([...stream(), turnStarted, turnFailed])).toBe("consumer_turn_failed");
  expect(codeOfStream([...stream(), turnStarted, turnCompleted])).toBe("consumer_final_message_missing");
  const honest = factsOf(stream()).stream;
  expect(codeOfStream(stream(), { stream: { ...honest, cut_last_line: true } })).toBe("structured_log_cut");
});

test("H112 H113 H115: how it ended decides before what it wrote", () => {
  const honest = factsOf(stream()).stream;
  const cases: Array<[Partial<ConsumerFacts>, string]> = [
    [{ ended: "deadline", exit_code: null, signal: "SIGTERM" }, "consumer_deadline"],
    [{ ended: "output_limit", exit_code: null }, "consumer_output_limit"],
    [{ exit_code: 7 }, "consumer_process_failed"],
    [{ exit_code: null, signal: "SIGKILL" }, "consumer_process_failed"],
    [{ stream: { ...honest, over_limit: true } }, "structured_log_limit"],
    [{ stream: { ...honest, malformed_lines: 1 } }, "structured_log_malformed"],
    [{ stream: { ...honest, not_object_lines: 1 } }, "unexpected_jsonl_frame"],
    [{ stream: { ...honest, frames_not_kept: 1 } }, "structured_log_frames_lost"],
  ];
  for (const [change, code] of cases) expect(codeOfStream(stream(), change)).toBe(code);
});

test("where events were lost, what a later one could have mended is not known to be wrong; what was done stays done", () => {
  const lost = { stream: { ...factsOf(stream()).stream, frames_not_kept: 1 } };
  for (const kept of [1, 3, stream().length]) {
    const rules = judgeConsumer(factsOf(stream().slice(0, kept), lost));
    expect(rules.filter((rule) => rule.outcome === "fail")).toEqual([]);
    expect(stageCode(rules)).toBe("structured_log_frames_lost");
  }
  const shell = { type: "item.started", item: { id: "s", type: "command_execution" } };
  const rules = judgeConsumer(factsOf(stream({ before: [shell] }), lost));
  expect(rules.find((rule) => rule.outcome === "fail")?.code).toBe("consumer_used_unrequested_tools");
});

test("H104 H141: a lifecycle row of each kind, before or after, and a fixture that is no longer clean", () => {
  const none = { sessions: 0, goals: 0, agents: 0, tasks: 0 };
  for (const kind of ["sessions", "goals", "agents", "tasks"] as const)
    for (const when of ["lifecycle_before", "lifecycle_after"] as const)
      expect(codeOfStream(stream(), { [when]: { ...none, [kind]: 1 } })).toBe("consumer_created_durable_lifecycle");
  expect(codeOfStream(stream(), { fixture_unchanged: false })).toBe("consumer_changed_fixture");
});

test("nothing recorded is incomplete, never a pass and never a failure", () => {
  for (const facts of [
    null,
    factsOf(stream(), { ended: "not_started", fixture_unchanged: null, lifecycle_before: null, lifecycle_after: null }),
  ])
    expect(new Set(judgeConsumer(facts).map((rule) => rule.outcome))).toEqual(new Set(["incomplete"]));
});
