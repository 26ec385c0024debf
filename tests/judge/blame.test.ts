// Whose doing a failed rule is, where a second observer moves the blame away from the seat that showed the fault.
import { expect, test } from "bun:test";
import { sha256Hex } from "../../src/base/bytes.ts";
import type { ConsumerFacts, Rule } from "../../src/contract/report.ts";
import { judgeAudit } from "../../src/judge/audit.ts";
import { judgeConsumer } from "../../src/judge/consumer.ts";
import { judgeManagedTurn, judgeManagedWork } from "../../src/judge/managed.ts";
import { judgePrivacy } from "../../src/judge/privacy.ts";
import { judgeRecovery } from "../../src/judge/recovery.ts";
import { alphaPath, beta, betaPath, call, factsOf, read, result, stream } from "./consumer-subject.ts";
import { auditOf, forced, managedFacts, recoveryFacts, seats } from "./managed-subject.ts";

const named = (rules: readonly Rule[], name: string) => {
  const { code, party, outcome } = rules.find((one) => one.rule === name)!;
  return [outcome, code, party];
};

test("other bytes are the consumer's doing, unless the server says that it served just those", () => {
  const other = "BENCH_TARGET_ALPHA=other\n";
  const frames = stream({ calls: [call({ result: result([read(alphaPath, other), read(betaPath, beta)]) })] });
  const facts = factsOf(frames);
  const row = { ...facts.receipts![0]!, path: alphaPath, text_sha256: sha256Hex(other) };
  const judged = (change: Partial<ConsumerFacts>) => named(judgeConsumer({ ...facts, ...change }), "consumer_reads");
  expect(judged({})).toEqual(["fail", "consumer_tool_result_mismatch", "consumer"]);
  expect(judged({ receipts: [row, ...facts.receipts!] })).toEqual(["fail", "consumer_tool_result_mismatch", "server"]);
});

test("a server that keeps no right receipt of our own read cannot make a consumer a forger", () => {
  for (const control of ["missing", "wrong"] as const)
    expect(
      named(judgeConsumer(factsOf(stream(), { receipts: [], control_receipt: control })), "consumer_receipts"),
    ).toEqual(["fail", "server_receipts_not_kept", "server"]);
  const forger = factsOf(stream(), { receipts: [], control_receipt: "kept" });
  expect(named(judgeConsumer(forger), "consumer_receipts")).toEqual([
    "fail",
    "consumer_receipt_not_served",
    "consumer",
  ]);
});

test("a consumer that left a process behind is refused, however well it worked", () => {
  expect(named(judgeConsumer(factsOf(stream(), { left_processes: 1 })), "consumer_process")).toEqual([
    "fail",
    "consumer_left_process",
    "consumer",
  ]);
});

test("two prompts are the runner's doing when it was given one run, the server's when it was given two", () => {
  const audit = auditOf({ prompts: [forced, forced] });
  for (const [admitted, party] of [
    [1, "runner"],
    [null, "runner"],
    [2, "server"],
  ] as const)
    expect(named(judgeAudit(audit, seats, admitted), "managed_single_prompt")).toEqual([
      "fail",
      "managed_prompt_redispatched",
      party,
    ]);
});

test("a run not in flight at the restart is the server's doing when the runner's journal holds no end of it", () => {
  const judged = (phase: string, ended_in_journal: boolean | null | undefined) => {
    const facts = { ...recoveryFacts({ phase_before_disconnect: phase }), ended_in_journal };
    return named(judgeRecovery(facts), "recovery_in_flight");
  };
  const code = "in_flight_restart_not_observed";
  for (const phase of ["terminal", "before_prompt"]) {
    expect(judged(phase, false)).toEqual(["incomplete", code, "server"]);
    for (const journal of [true, null, undefined])
      expect(judged(phase, journal)).toEqual(["incomplete", code, "adapter"]);
  }
  for (const phase of ["waiting_permission", "outcome_unknown"])
    expect(judged(phase, false)).toEqual(["incomplete", code, "adapter"]);
});

test("a relay's file that one prompt's adapter filled is the adapter's doing, one full of prompts the runner's", () => {
  const judged = (change: Parameters<typeof auditOf>[0]) => named(judgeAudit(auditOf(change), seats), "audit_whole");
  expect(judged({ audit_limit: true })).toEqual(["incomplete", "audit_incomplete", "adapter"]);
  expect(judged({ audit_limit: true, prompts: [forced, forced] })).toEqual([
    "incomplete",
    "audit_incomplete",
    "runner",
  ]);
});

test("a planted mark that stands in the diff alone was written by the agent; anywhere else the harness let it out", () => {
  const found = (...files: string[]) => {
    const marks = files.map((file) => ({ id: "task-instruction", file, form: "raw" }));
    const planted = [{ id: "task-instruction", where: "prompt" }];
    return named(judgePrivacy({ planted, scanned: files, not_scanned: [], found: marks, wrong_modes: [] }), "privacy");
  };
  const code = "private_text_found";
  expect(found("implementation.diff")).toEqual(["fail", code, "adapter"]);
  expect(found("report.json")).toEqual(["fail", code, "harness"]);
  expect(found("implementation.diff", "report.json")).toEqual(["fail", code, "harness"]);
});

test("a lost run is the adapter's doing when the adapter left it", () => {
  const judged = (error_code: string | null) => {
    const managed = managedFacts({ final_state: "lost", task_state: null, stop_reason: null, error_code });
    return named(judgeManagedTurn({ managed, recovery: recoveryFacts() }), "managed_turn");
  };
  expect(judged("coding_agent_process_exited")).toEqual(["incomplete", "managed_outcome_uncertain", "adapter"]);
  expect(judged("runner_restart_uncertain")).toEqual(["incomplete", "managed_outcome_uncertain", "runner"]);
});

test("tests that pass on wrong values were tampered with; wrong values of a failed test run are only wrong", () => {
  const judged = (right: number, exit_code: number) => {
    const fixed_tests = { ...managedFacts().fixed_tests!, exit_code };
    return named(
      judgeManagedWork(managedFacts({ fixed_tests, probe: { cases: 12, right } })),
      "managed_test_runner",
    ).slice(0, 2);
  };
  expect(judged(12, 0)).toEqual(["pass", undefined]);
  expect(judged(11, 0)).toEqual(["fail", "agent_tampered_with_test_runner"]);
  expect(judged(3, 1)).toEqual(["pass", undefined]);
});
