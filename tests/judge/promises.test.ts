// What an acceptance run promises about itself, part by part: what it takes to pass, what stays separate, and what is
// not claimed. Pure, from facts; no service is started.
import { expect, test } from "bun:test";
import { catalogue } from "../../src/calibrate/catalogue.ts";
import type { Report } from "../../src/contract/report.ts";
import { renderHtml } from "../../src/evidence/html.ts";
import { judgeAudit } from "../../src/judge/audit.ts";
import { judgeConsumer } from "../../src/judge/consumer.ts";
import { judgeLeftovers } from "../../src/judge/leftovers.ts";
import { judgeReport, runPassed, stageCode } from "../../src/judge/verdict.ts";
import { honestReport, withVerdict } from "../evidence/honest-report.ts";
import {
  alpha,
  alphaPath,
  answer,
  beta,
  betaPath,
  call,
  factsOf,
  message,
  read,
  result,
  stream,
  turnCompleted,
} from "./consumer-subject.ts";
import { auditOf, census, forced, seats } from "./managed-subject.ts";

const consumerCode = (frames: ReturnType<typeof stream>, change = {}) =>
  stageCode(judgeConsumer(factsOf(frames, change)));

test("acceptance takes receipts equal to the bytes, an answer checked apart from them, and no new row of four kinds (O019)", () => {
  expect(consumerCode(stream())).toBeUndefined();
  const altered = call({ result: result([read(alphaPath, `${alpha}x`), read(betaPath, beta)]) });
  expect(consumerCode(stream({ calls: [altered] }))).toBe("consumer_tool_result_mismatch");
  expect(consumerCode(stream(), { receipts: [] })).toBe("consumer_receipt_not_served");
  const wrong = message(JSON.stringify({ ...answer, BENCH_TARGET_ALPHA: "guessed" }));
  expect(consumerCode(stream({ final: [wrong, turnCompleted] }))).toBe("consumer_report_mismatch");
  const none = { sessions: 0, goals: 0, agents: 0, tasks: 0 };
  for (const kind of Object.keys(none))
    expect(consumerCode(stream(), { lifecycle_after: { ...none, [kind]: 1 } })).toBe(
      "consumer_created_durable_lifecycle",
    );

  const codes = new Set(catalogue.flatMap((subject) => (subject.kind === "bad" ? [subject.code] : [])));
  for (const code of [
    "consumer_tool_result_mismatch",
    "consumer_receipt_not_served",
    "consumer_report_mismatch",
    "consumer_created_durable_lifecycle",
  ])
    expect(codes).toContain(code);
});

test("a good read later hides no forbidden attempt before it, finished or not (O020)", () => {
  for (const type of ["command_execution", "file_change", "web_search"])
    for (const event of ["item.started", "item.failed"]) {
      const attempt = { type: event, item: { id: "item_0", type } };
      expect(consumerCode(stream({ before: [attempt] }))).toBe("consumer_used_unrequested_tools");
    }
  const elsewhere = { type: "item.started", item: { type: "mcp_tool_call", server: "other", tool: "write_file" } };
  expect(consumerCode(stream({ before: [elsewhere] }))).toBe("consumer_called_wrong_mcp_tool");
});

test("the effective model and effort are the relay's observation, whatever was forced (O021)", () => {
  const code = (prompts: Record<string, string>[]) => stageCode(judgeAudit(auditOf({ prompts }), seats));
  expect(code([forced])).toBeUndefined();
  for (const seen of [{ ...forced, model: "gpt-other" }, { ...forced, reasoning_effort: "high" }, {}])
    expect(code([seen])).toBe("actual_forced_model_not_observed");
});

test("recovery is described with phase, run state and execution state from before the outage, on the page too (O023)", () => {
  const report = honestReport();
  Object.assign(report.recovery, {
    phase_before_disconnect: "in_flight",
    run_state_before_disconnect: "running",
    execution_state_before_disconnect: "started",
  });
  const page = pageOf(withVerdict(report));
  expect(page).toContain("phase in_flight, run running, execution started");
});

test("good coding and covered recovery are two results: one stands without the other, and the run has not passed (O026)", () => {
  const report = honestReport();
  const { recovery } = report.facts!;
  recovery!.phase_before_disconnect = "terminal";
  recovery!.observations = recovery!.observations.filter((step) => step.when === "after_restart");
  recovery!.observations.unshift({ ...recovery!.observations[0]!, when: "before_restart" });
  const { rules, outcome } = judgeReport(report);
  const outcomeOf = (name: string) => rules.find((rule) => rule.rule === name)?.outcome;
  expect([outcomeOf("managed_fixed_tests"), outcomeOf("managed_all_tests"), outcomeOf("managed_turn")]).toEqual([
    "pass",
    "pass",
    "pass",
  ]);
  expect([outcomeOf("recovery_in_flight"), outcome]).toEqual(["incomplete", "incomplete"]);

  const broken = honestReport();
  broken.facts!.managed!.fixed_tests = { ...broken.facts!.managed!.fixed_tests!, exit_code: 1 };
  const other = judgeReport(broken);
  expect(other.rules.find((rule) => rule.rule === "recovery_in_flight")?.outcome).toBe("pass");
  expect(other.outcome).toBe("failed");
  const all = { consumer: true, managed: true, recovery: true };
  for (const stage of ["consumer", "managed", "recovery"] as const)
    expect(runPassed({ ...all, [stage]: false }, { ...other, outcome: "passed" })).toBe(false);
});

test("a run seen alive before the outage is not claimed to have been active through it, in report and page (O028)", () => {
  const report = withVerdict(honestReport());
  const line = "the run was seen in flight before the outage; that it stayed active all through it is not shown";
  expect(report.verdict?.not_proven).toContain(line);
  expect(pageOf(report)).toContain(line);

  const unseen = honestReport();
  unseen.facts!.recovery!.phase_before_disconnect = null;
  expect(judgeReport(unseen).not_proven).not.toContain(line);
});

test("completion, the seven fixed tests, further tests and clean-up stand apart, in rules and on the page (O029)", () => {
  const report = withVerdict(honestReport());
  const facts = Object.fromEntries((report.verdict?.rules ?? []).map((rule) => [rule.rule, rule.fact]));
  expect(facts["managed_turn"]).toBe("run completed, task succeeded, stop reason end_turn");
  expect(facts["managed_fixed_tests"]).toBe("7 tests ran, status 0");
  expect(facts["managed_all_tests"]).toBe("8 tests ran, status 0");
  expect(facts["leftovers"]).toStartWith("0 processes");
  const page = pageOf(report);
  for (const title of ["Managed coding run", "Fixed tests", "All tests, the added ones too", "Clean-up"])
    expect(page).toContain(`<strong>${title}</strong>`);
});

test("clean-up is judged by what was seen to stop, and shown with how the execution ended (O030)", () => {
  const stopped = { consumer_group_stopped: true, runner_stopped: true, server_stopped: true };
  expect(judgeLeftovers(census(), stopped).outcome).toBe("pass");
  for (const name of Object.keys(stopped)) {
    const rule = judgeLeftovers(census(), { ...stopped, [name]: false });
    expect(rule).toMatchObject({ outcome: "fail", code: "leftover_processes" });
    expect(rule.fact).toEndWith(`, ${name}: no`);
  }
  const report = honestReport();
  Object.assign(report.cleanup, stopped, { runner_stopped: false, execution_outcome: "outcome_unknown" });
  const page = pageOf(withVerdict(report));
  expect(judgeReport(report).outcome).toBe("failed");
  expect(page).toContain("execution outcome outcome_unknown; server stopped: yes, runner stopped: no");
});

function pageOf(report: Report): string {
  return renderHtml({ report, raw: report, problems: [], digest: "0".repeat(64), folder: "/nowhere" });
}
