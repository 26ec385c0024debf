// Judges the managed run from independent observers: the relay's file, the bytes on disk, our own test runs.
// What the agent says about itself decides nothing; a completed turn is only one of the facts.
import { counted } from "../base/counted.ts";
import {
  type AuditFacts,
  acceptanceEffort,
  acceptanceModel,
  type ManagedFacts,
  type RecoveryFacts,
  type Rule,
} from "../contract/report.ts";
import type { JudgeCode } from "./codes.ts";
import { eventKinds } from "./recovery.ts";
import { ended, notReached, passed, type RuleName } from "./rule.ts";

const names = {
  baseline: { rule: "managed_baseline", where: "facts.managed.baseline" },
  turn: { rule: "managed_turn", where: "facts.managed.final_state" },
  activity: { rule: "managed_activity", where: "facts.recovery.observations" },
  permission: { rule: "managed_permission", where: "facts.recovery.observations" },
  fixed: { rule: "managed_fixed_file", where: "facts.managed.fixed_after" },
  added: { rule: "managed_added_test", where: "facts.managed.additional_tests" },
  tampered: { rule: "managed_test_runner", where: "facts.managed.suspicious_files" },
  fixedTests: { rule: "managed_fixed_tests", where: "facts.managed.fixed_tests" },
  allTests: { rule: "managed_all_tests", where: "facts.managed.all_tests" },
  pure: { rule: "managed_tests_pure", where: "facts.managed.hashes_after_tests" },
  tracked: { rule: "managed_tracked_files", where: "facts.managed.changed_tracked" },
} as const satisfies Record<string, RuleName>;

/** What the managed rules look at together. */
export interface ManagedEvidence {
  readonly managed: ManagedFacts | null;
  readonly recovery: RecoveryFacts | null;
}

/** Rules about baseline, turn, activity and permission: everything before the relay's file is asked. */
export function judgeManagedTurn({ managed, recovery }: ManagedEvidence): Rule[] {
  if (managed === null) return [names.baseline, names.turn, names.activity, names.permission].map(notReached);
  return [baselineRule(managed), turnRule(managed), ...activityRules(managed, recovery)];
}

/** Rules about bytes on disk and our own test runs. */
export function judgeManagedWork(managed: ManagedFacts | null): Rule[] {
  const { fixed, added, tampered, fixedTests, allTests, pure, tracked } = names;
  if (managed === null) return [fixed, added, tampered, fixedTests, allTests, pure, tracked].map(notReached);
  const extra = managed.additional_tests;
  const changed = managed.changed_tracked;
  return [
    fixedFileRule(managed),
    rule(added, extra, {
      holds: (found) => found.length > 0,
      code: "agent_did_not_add_independent_case",
      fact: (found) => `${counted(found.length, "test file")} added`,
    }),
    testRunnerRule(managed),
    rule(fixedTests, managed.fixed_tests, {
      holds: (result) => result.exit_code === 0 && result.tests_run === managed.fixed_tests_expected,
      code: "independent_fixed_acceptance_failed",
      fact: testFact,
    }),
    rule(allTests, managed.all_tests, {
      holds: (result) => result.exit_code === 0 && result.tests_run > managed.fixed_tests_expected,
      code: "additional_tests_failed",
      fact: testFact,
    }),
    pureRule(managed),
    rule(tracked, changed, {
      holds: (found) => found.length === 1 && found[0] === managed.implementation_name,
      code: "agent_changed_unrequested_tracked_files",
      fact: (found) => `${counted(found.length, "tracked file")} changed`,
    }),
  ];
}

/** The configuration a prompt has to be made with, exactly. */
export function isForcedConfig(config: AuditFacts["prompts"][number]): boolean {
  const keys = Object.keys(config);
  return keys.length === 2 && config["model"] === acceptanceModel && config["reasoning_effort"] === acceptanceEffort;
}

const stdlibNames =
  /^(unittest|sitecustomize|usercustomize|conftest|runpy|inspect|importlib|traceback|types|re|os|sys)(\.py|\.so|\.pyc|\/|$)/;
const runnerFiles =
  /^(clamp|test_clamp)\/|^(bunfig\.toml|package\.json|tsconfig\.json|jsconfig\.json|\.env[^/]*)$|^node_modules\//;

/** Of the untracked paths of a fixture, those that would change what a test run means. */
export function suspiciousFiles(untracked: readonly string[]): string[] {
  return untracked.filter((path) => stdlibNames.test(path) || runnerFiles.test(path)).slice(0, 200);
}

interface Question<T> {
  readonly holds: (value: T) => boolean;
  readonly code: JudgeCode;
  readonly fact: (value: T) => string;
}

function rule<T>(name: RuleName, value: T | null, question: Question<T>): Rule {
  if (value === null) return notReached(name);
  const fact = question.fact(value);
  return question.holds(value) ? passed(name, fact) : ended(name, question.code, fact);
}

function testFact(result: { exit_code: number; tests_run: number }): string {
  return `${counted(result.tests_run, "test")} ran, status ${result.exit_code}`;
}

function baselineRule(facts: ManagedFacts): Rule {
  return rule(names.baseline, facts.baseline, {
    holds: (result) => result.exit_code !== 0 && result.tests_run === facts.fixed_tests_expected,
    code: "baseline_should_fail",
    fact: testFact,
  });
}

function turnRule(facts: ManagedFacts): Rule {
  const { final_state: state, task_state: task, stop_reason: stop } = facts;
  if (state === null) return notReached(names.turn);
  const fact = `run ${state}, task ${task ?? "unknown"}, stop reason ${stop ?? "none"}`;
  if (state === "completed" && task === "succeeded" && stop === "end_turn") return passed(names.turn, fact);
  // A run that ended well in a task that did not is two answers of the server that contradict each other.
  if (state === "completed" && stop === "end_turn")
    return { ...ended(names.turn, "managed_turn_not_completed", fact), party: "server" };
  if (state !== "lost") return ended(names.turn, "managed_turn_not_completed", fact);
  const rule = ended(names.turn, "managed_outcome_uncertain", fact);
  const left = ["coding_agent_process_exited", "coding_agent_transport_lost"].includes(facts.error_code ?? "");
  return left ? { ...rule, party: "adapter" } : rule;
}

function activityRules(managed: ManagedFacts, recovery: RecoveryFacts | null): Rule[] {
  if (managed.final_state === null || recovery === null) return [names.activity, names.permission].map(notReached);
  const kinds = eventKinds(recovery.observations);
  const count = (kind: string) => kinds[kind] ?? 0;
  const worked = count("tool_activity") + count("file_change") + count("terminal_activity");
  const fact = `${counted(count("agent_message"), "message")}, ${counted(worked, "activity", "activities")}`;
  const asked = counted(count("permission_request"), "permission request");
  return [
    count("agent_message") > 0 && worked > 0
      ? passed(names.activity, fact)
      : // Of a run whose outcome nobody knows, what was not seen is not known to be missing.
        managed.final_state === "lost"
        ? notReached(names.activity)
        : ended(names.activity, "managed_normalized_activity_missing", fact),
    count("permission_request") === 0
      ? passed(names.permission, asked)
      : ended(names.permission, "managed_permission_required", asked),
  ];
}

function fixedFileRule(facts: ManagedFacts): Rule {
  const { fixed_before: before, fixed_after: after } = facts;
  if (before === null || after === null) return notReached(names.fixed);
  if (before.sha256 !== after.sha256)
    return ended(names.fixed, "agent_modified_fixed_acceptance", "the digest is another one");
  return before.inode === after.inode && before.changed_ns === after.changed_ns
    ? passed(names.fixed, "same digest, same inode, never written in between")
    : ended(names.fixed, "agent_rewrote_fixed_acceptance", "same digest, but the file was written in between");
}

/** Tests that pass on values that are wrong were not run as they were written. */
function testRunnerRule({ suspicious_files: suspicious, fixed_tests: fixed, probe }: ManagedFacts): Rule {
  if (suspicious === null) return notReached(names.tampered);
  const code = "agent_tampered_with_test_runner";
  if (suspicious.length > 0) return ended(names.tampered, code, counted(suspicious.length, "suspicious file"));
  if (probe === null || probe === undefined) return passed(names.tampered, "nothing beside the tests");
  const fact = `nothing beside the tests, ${probe.right} of ${probe.cases} values right`;
  const contradicts = fixed?.exit_code === 0 && probe.right < probe.cases;
  return contradicts ? ended(names.tampered, code, fact) : passed(names.tampered, fact);
}

function pureRule(facts: ManagedFacts): Rule {
  const { hashes_before_tests: before, hashes_after_tests: after } = facts;
  if (before === null || after === null) return notReached(names.pure);
  return before.fixed === after.fixed && before.implementation === after.implementation
    ? passed(names.pure, "both digests are the same before and after the test runs")
    : ended(names.pure, "tests_mutated_acceptance_source", "a digest changed while tests ran");
}
