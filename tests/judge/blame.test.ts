// Whose doing a failed rule is, where a second observer moves the blame away from the seat that showed the fault.
import { expect, test } from "bun:test";
import { sha256Hex } from "../../src/base/bytes.ts";
import type { ConsumerFacts, Rule } from "../../src/contract/report.ts";
import { judgeAudit } from "../../src/judge/audit.ts";
import { judgeConsumer } from "../../src/judge/consumer.ts";
import { judgeManagedTurn, judgeManagedWork } from "../../src/judge/managed.ts";
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
