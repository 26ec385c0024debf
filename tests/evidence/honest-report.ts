// A whole finished run on disk, honest in every part, built from the judges' honest facts.
// `edit` changes the report before it is written; files can be changed by the test afterwards.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chainedLine, chainStart } from "../../src/contract/audit-chain.ts";
import { type Report, reportFormat } from "../../src/contract/report.ts";
import { type AuditRecordView, auditFacts } from "../../src/judge/audit.ts";
import { judgeReport, runPassed } from "../../src/judge/verdict.ts";
import { expectation, factsOf, stream } from "../judge/consumer-subject.ts";
import { canaries, census, forced, managedFacts, recoveryFacts, seats } from "../judge/managed-subject.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
export const diffText = [
  "diff --git a/clamp.py b/clamp.py",
  "--- a/clamp.py",
  "+++ b/clamp.py",
  "@@ -1,2 +1,4 @@",
  "-    raise NotImplementedError",
  "+    if lower > upper: raise ValueError('<bounds>')",
  "+    return max(lower, min(value, upper))",
  "",
].join("\n");

const auditEvents: AuditRecordView[] = [
  { event: "adapter_process_started", time_ns: 1, pid: 300, relay_pid: 299, after_bytes: 0 },
  { event: "adapter_identity", time_ns: 2, name: "proctor-standin-agent", version: "1.0.0" },
  { event: "config_observed", time_ns: 3, values: forced },
  { event: "prompt_dispatch", time_ns: 4, effective_config: forced },
  { event: "adapter_process_exited", time_ns: 5, exit_code: 0, stderr_drained: true, stderr_bytes: 0, diagnostics: {} },
];

/** The lines of a relay's file with these events, chained as the relay chains them. */
export function chainedLines(events: readonly AuditRecordView[]): string[] {
  let previous = chainStart(new Uint8Array());
  return events.map((event, index) => {
    const one = chainedLine(previous, JSON.stringify({ ...event, segment: "0123456789abcdef", seq: index + 1 }));
    previous = one.chain;
    return one.line;
  });
}

export const auditRecords = auditEvents;
const auditText = `${chainedLines(auditEvents).join("\n")}\n`;

const files: Readonly<Record<string, string>> = {
  "implementation.diff": diffText,
  "private/acp-metadata.jsonl": auditText,
  "private/runner.toml": 'client_id = "x"\n',
  "project/clamp.py": "def clamp(value, lower, upper):\n    return value\n",
  "project/test_clamp.py": "import unittest\n",
};

/** The report of an honest run, verdict included. */
export function honestReport(): Report {
  const audit = auditFacts(auditRecords, { sha256: sha256(auditText), intact: true });
  const managed = managedFacts({ diff_sha256: sha256(diffText) });
  const recovery = recoveryFacts();
  const consumer = factsOf(stream());
  const report: Report = {
    format: reportFormat,
    state: "running",
    phase: "closed",
    started_at_unix: 1_767_000_000,
    updated_at_unix: 1_767_000_009,
    finished_at_unix: 1_767_000_009,
    source_head: "0".repeat(40),
    script_sha256: "1".repeat(64),
    model: "gpt-5.6-luna",
    effort: "medium",
    host_job_id: null,
    process_id: 4242,
    output_dir: "/tmp/run",
    consumer: {
      passed: true,
      tool_calls: [
        { files: Object.entries(expectation.files).map(([path, text]) => ({ path, sha256: sha256(text), text })) },
      ],
    },
    managed: {
      passed: true,
      ...recovery.bound,
      terminal_binding: recovery.bound,
      all_tests: managed.all_tests,
      fixed_acceptance_tests: managed.fixed_tests,
      implementation_diff_sha256: managed.diff_sha256,
    },
    recovery: {
      passed: true,
      old_server_pid: 100,
      new_server_pid: 200,
      preserved_runner_pid: 150,
      phase_before_disconnect: "in_flight",
      actual_prompt_dispatches: 1,
      adapter_processes: 1,
    },
    cleanup: { process_cleanup_finished: true, execution_terminal_observed: true },
    fixture: { fixed_test_sha256: managed.fixed_before?.sha256 },
    adapter: { version: seats.adapter.version },
    seats,
    facts: { consumer, recovery, managed, audit },
    census: census(),
    canaries: canaries(),
    audit: { path: "private/acp-metadata.jsonl", sha256: audit.sha256, count: audit.count },
    manifest: {
      files: Object.entries(files).map(([path, text]) => ({
        path,
        sha256: sha256(text),
        bytes: Buffer.byteLength(text),
      })),
    },
    timeline: [
      { at_unix: 1_767_000_000, what: "preflight" },
      { at_unix: 1_767_000_001, what: "services_ready" },
      { at_unix: 1_767_000_001.2, what: "consumer_running" },
      { at_unix: 1_767_000_002, what: "consumer_accepted" },
      { at_unix: 1_767_000_002.1, what: "attempt_claimed" },
      { at_unix: 1_767_000_004, what: "before_server_restart" },
      { at_unix: 1_767_000_005, what: "server_recovered_original_run" },
      { at_unix: 1_767_000_008, what: "managed_and_recovery_accepted" },
      { at_unix: 1_767_000_009, what: "closed" },
    ],
  };
  return withVerdict(report);
}

/** The same report with the verdict its facts come to. */
export function withVerdict(report: Report): Report {
  const verdict = judgeReport(report);
  const { consumer, managed, recovery } = report;
  const stages = { consumer: consumer.passed, managed: managed.passed, recovery: recovery.passed };
  return { ...report, verdict, state: runPassed(stages, verdict) ? "passed" : "failed" };
}

/** Writes the run below `folder` and gives the report's digest. */
export function writeRun(folder: string, report: Report = honestReport()): string {
  for (const name of ["private", "project"]) mkdirSync(join(folder, name), { mode: 0o700 });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text, { mode: 0o600 });
  return writeReport(folder, report);
}

/** Writes the report alone and gives its digest. */
export function writeReport(folder: string, report: unknown): string {
  const text = `${JSON.stringify(report, null, 2)}\n`;
  writeFileSync(join(folder, "report.json"), text, { mode: 0o600 });
  return sha256(text);
}
