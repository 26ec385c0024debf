// How rules come to one verdict, and whose doing a code is.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/contract/report.ts";
import { judgeCodes, outcomeOfCode, partyOf, sentenceOf } from "../../src/judge/codes.ts";
import {
  decidingRule,
  judgeReport,
  managedStageCode,
  outcomeOf,
  runPassed,
  stageCode,
} from "../../src/judge/verdict.ts";
import { factsOf, stream } from "./consumer-subject.ts";
import { auditOf, canaries, census, managedFacts, recoveryFacts, seats } from "./managed-subject.ts";

const basis = () => ({
  consumer: {},
  managed: {},
  facts: { consumer: factsOf(stream()), recovery: recoveryFacts(), managed: managedFacts(), audit: auditOf() },
  seats,
  census: census(),
  canaries: canaries(),
});
const rule = (outcome: Rule["outcome"], code?: string): Rule => ({
  rule: "r",
  outcome,
  ...(code === undefined ? {} : { code }),
  fact: "f",
  where: "w",
});

test("an honest run passes, and says what it does not prove", () => {
  const verdict = judgeReport(basis());
  expect(verdict.outcome).toBe("passed");
  expect(decidingRule(verdict.rules)).toBeUndefined();
  expect(verdict.not_proven.join("\n")).toContain("consumer: filled by proctor-standin-exec");
  expect(new Set(verdict.rules.map((one) => one.rule)).size).toBe(verdict.rules.length);
});

test("unknown is never folded: failed over incomplete over passed, not applicable does not count", () => {
  expect(outcomeOf([rule("pass"), rule("not_applicable")])).toBe("passed");
  expect(outcomeOf([rule("pass"), rule("incomplete")])).toBe("incomplete");
  expect(outcomeOf([rule("incomplete"), rule("fail")])).toBe("failed");
});

test("the deciding rule is the first failed one, else the first incomplete one with a reason of its own", () => {
  const open = rule("incomplete", "not_reached");
  const deadline = rule("incomplete", "consumer_deadline");
  expect(decidingRule([open, deadline])?.code).toBe("consumer_deadline");
  expect(decidingRule([open, deadline, rule("fail", "leftover_processes")])?.code).toBe("leftover_processes");
  expect(decidingRule([rule("pass"), open])?.code).toBe("not_reached");
});

test("H207: a run passes only if consumer, managed, recovery and the verdict all do", () => {
  const verdict = judgeReport(basis());
  for (const consumer of [true, false])
    for (const managed of [true, false])
      for (const recovery of [true, false])
        expect(runPassed({ consumer, managed, recovery }, verdict)).toBe(consumer && managed && recovery);
  const left = judgeReport({ ...basis(), census: undefined });
  expect(runPassed({ consumer: true, managed: true, recovery: true }, left)).toBe(false);
});

test("H204: a good result cannot raise a recovery that was not seen in flight", () => {
  const facts = basis().facts;
  facts.recovery = recoveryFacts({ phase_before_disconnect: "terminal" });
  const verdict = judgeReport({ ...basis(), facts });
  expect(verdict.outcome).not.toBe("passed");
  const open = verdict.rules.filter((one) => one.rule === "recovery_in_flight");
  expect([stageCode(open), managedStageCode(open)]).toEqual(["in_flight_restart_not_observed", undefined]);
});

test("H206 H208: a stage's code that no rule explains has a rule of its own; an explained one has not twice", () => {
  const foreign = judgeReport({ ...basis(), managed: { failure: "tool_create_agent_task_denied" } });
  expect(foreign.rules.find((one) => one.rule === "stage_managed")).toMatchObject({
    outcome: "fail",
    code: "tool_create_agent_task_denied",
    party: "server",
  });
  const own = judgeReport({ ...basis(), failure: "harness_out_of_ports" });
  expect(own.outcome).toBe("incomplete");
  expect(decidingRule(own.rules)).toMatchObject({ rule: "stage_run", party: "harness" });
  const facts = { ...basis().facts, consumer: factsOf(stream(), { exit_code: 7 }) };
  const explained = judgeReport({ ...basis(), facts, consumer: { failure: "consumer_process_failed" } });
  expect(explained.rules.some((one) => one.rule === "stage_consumer")).toBe(false);
});

test("no facts at all are incomplete, with every rule named", () => {
  const verdict = judgeReport({ consumer: {}, managed: {} });
  expect(verdict.outcome).toBe("incomplete");
  expect(verdict.rules.length).toBe(judgeReport(basis()).rules.length);
});

test("every code has one sentence, a party and an outcome", () => {
  const sentences = Object.values(judgeCodes);
  expect(new Set(sentences).size).toBe(sentences.length);
  for (const [code, sentence] of Object.entries(judgeCodes)) {
    expect(sentence).toMatch(/^[A-Z].*\.$/);
    expect(sentenceOf(code)).toBe(sentence);
    expect(["fail", "incomplete"]).toContain(outcomeOfCode(code));
  }
});

test("blame lies with the right party; our own faults are never the subject's", () => {
  const cases = {
    consumer_deadline: "consumer",
    structured_log_malformed: "consumer",
    managed_event_history_lost: "server",
    recovery_changed_execution_identity: "server",
    binding_replay_changed_run: "server",
    managed_prompt_redispatched: "runner",
    runner_did_not_survive_server_stop: "runner",
    agent_modified_fixed_acceptance: "adapter",
    live_adapter_version_mismatch: "adapter",
    managed_permission_required: "adapter",
    http_result_not_json: "server",
    git_required: "host",
    codex_environment_missing: "host",
    adapter_script_required: "host",
    adapter_package_mismatch: "adapter",
    consumer_group_must_be_independent: "harness",
    output_folder_exists: "host",
    harness_anything: "harness",
    internal: "harness",
    leftover_unknown: "harness",
  };
  for (const [code, party] of Object.entries(cases)) expect([code, partyOf(code)]).toEqual([code, party as never]);
});
