// What a report says twice has to agree: the seed's fields against the facts the rules were judged from.
// A field that is absent is no finding; an edited one is.
import { isRecord } from "../base/json.ts";
import type { Report } from "../contract/report.ts";
import type { Finding, FindingCode } from "./codes.ts";

type Pair = readonly [code: FindingCode, where: string, said: unknown, fact: unknown];

/** Every place where two statements of the same thing differ. */
export function crossCheck(report: Report): Finding[] {
  const pairs = [...bindingPairs(report), ...recoveryPairs(report), ...workPairs(report), ...seatPairs(report)];
  const findings: Finding[] = pairs
    .filter(([, , said, fact]) => present(said) && present(fact) && !sameValue(said, fact))
    .map(([code, where]) => ({ code, where }));
  return [...findings, ...receiptFindings(report), ...timeFindings(report)];
}

/** Structural equality of two JSON values; the order of keys means nothing. */
export function sameValue(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((value, index) => sameValue(value, right[index]));
  if (isRecord(left) && isRecord(right)) {
    const keys = Object.keys(left);
    return (
      keys.length === Object.keys(right).length &&
      keys.every((key) => Object.hasOwn(right, key) && sameValue(left[key], right[key]))
    );
  }
  return left === right;
}

function present(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function field(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at;
}

function bindingPairs(report: Report): Pair[] {
  const bound = report.facts?.recovery?.bound;
  const ids = ["task_id", "attempt_id", "run_id"] as const;
  return [
    ...ids.map((id): Pair => ["binding_edited", `managed.${id}`, report.managed[id], bound?.[id]]),
    ...ids.map((id): Pair => {
      const said = field(report.managed, "terminal_binding", id);
      return [
        "binding_edited",
        `managed.terminal_binding.${id}`,
        said,
        report.facts?.recovery?.reconciled_at_end?.[id],
      ];
    }),
  ];
}

function recoveryPairs(report: Report): Pair[] {
  const { recovery } = report;
  const facts = report.facts?.recovery;
  const audit = report.facts?.audit;
  const pair = (name: string, fact: unknown): Pair => ["recovery_edited", `recovery.${name}`, recovery[name], fact];
  return [
    pair("old_server_pid", facts?.old_server_pid),
    pair("new_server_pid", facts?.new_server_pid),
    pair("preserved_runner_pid", facts?.runner_pid_before),
    pair("phase_before_disconnect", facts?.phase_before_disconnect),
    [
      "audit_facts_edited",
      "recovery.actual_prompt_dispatches",
      recovery["actual_prompt_dispatches"],
      audit?.prompts.length,
    ],
    ["audit_facts_edited", "recovery.adapter_processes", recovery["adapter_processes"], audit?.adapter_processes],
    ["audit_facts_edited", "audit.sha256", report.audit?.sha256, audit?.sha256],
    ["audit_facts_edited", "audit.count", report.audit?.count, audit?.count],
  ];
}

function workPairs(report: Report): Pair[] {
  const facts = report.facts?.managed;
  const { managed } = report;
  const test = (name: string, fact: unknown): Pair => ["tests_edited", `managed.${name}`, managed[name], fact];
  return [
    test("baseline_expected_failure", facts?.baseline),
    test("fixed_acceptance_tests", facts?.fixed_tests),
    test("all_tests", facts?.all_tests),
    test("additional_tests", facts?.additional_tests),
    test("changed_tracked_files", facts?.changed_tracked),
    test("implementation_sha256", facts?.hashes_before_tests?.implementation),
    ["diff_edited", "managed.implementation_diff_sha256", managed["implementation_diff_sha256"], facts?.diff_sha256],
    [
      "fixture_edited",
      "fixture.fixed_test_sha256",
      field(report, "fixture", "fixed_test_sha256"),
      facts?.fixed_before?.sha256,
    ],
    [
      "fixture_edited",
      "fixture.read_fixture_sha256",
      field(report, "fixture", "read_fixture_sha256"),
      report.facts?.consumer?.expected.files,
    ],
  ];
}

function seatPairs(report: Report): Pair[] {
  const { seats } = report;
  const server = field(report, "binaries", "webcodex-server");
  return [
    ["seats_edited", "binaries.webcodex-server.sha256", field(server, "sha256"), seats?.control_plane.sha256],
    ["seats_edited", "codex.version", field(report, "codex", "version"), seats?.consumer.version],
    ["seats_edited", "adapter.version", field(report, "adapter", "version"), seats?.adapter.version],
    ["seats_edited", "adapter.script_sha256", field(report, "adapter", "script_sha256"), seats?.adapter.sha256],
  ];
}

/** `consumer.tool_calls` has to show the reads that the facts show, in their order. */
function receiptFindings(report: Report): Finding[] {
  const calls = report.consumer["tool_calls"];
  const facts = report.facts?.consumer;
  if (!Array.isArray(calls) || facts === null || facts === undefined || !report.consumer.passed) return [];
  const shown = calls.flatMap((call) => {
    const files = field(call, "files");
    return Array.isArray(files) ? files.map((file) => [field(file, "path"), field(file, "sha256")]) : [];
  });
  const kept = facts.frames.flatMap((frame) => frame.call?.items.map((item) => [item.path, item.text_sha256]) ?? []);
  return sameValue(shown, kept) ? [] : [{ code: "receipts_edited", where: "consumer.tool_calls" }];
}

function timeFindings(report: Report): Finding[] {
  const { started_at_unix: started, finished_at_unix: finished, timeline = [] } = report;
  const times = timeline.map((entry) => entry.at_unix);
  const ordered = times.every((time, index) => index === 0 || time >= times[index - 1]!);
  const inside = finished === undefined || started <= finished;
  return ordered && inside ? [] : [{ code: "times_edited", where: ordered ? "finished_at_unix" : "timeline" }];
}
