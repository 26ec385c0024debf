// Joins every rule into one verdict. Unknown is never folded into pass or fail: a failed rule fails the run,
// an incomplete one keeps it from passing, and what no seat could answer is listed as not proven.
import type { Canaries, Census, ReportFacts, Rule, Seats, Verdict } from "../contract/report.ts";
import { judgeAudit } from "./audit.ts";
import { outcomeOfCode, partyOf, sentenceOf } from "./codes.ts";
import { judgeConsumer } from "./consumer.ts";
import { judgeLeftovers } from "./leftovers.ts";
import { judgeManagedTurn, judgeManagedWork } from "./managed.ts";
import { judgePrivacy } from "./privacy.ts";
import { judgeRecovery } from "./recovery.ts";

/** The parts of a report that a verdict rests on; a whole report fits. */
export interface VerdictBasis {
  readonly failure?: string | undefined;
  readonly consumer: { readonly failure?: string | undefined };
  readonly managed: { readonly failure?: string | undefined };
  readonly facts?: ReportFacts | undefined;
  readonly seats?: Seats | undefined;
  readonly census?: Census | undefined;
  readonly canaries?: Canaries | undefined;
  readonly cleanup?: Readonly<Record<string, unknown>> | undefined;
}

const noFacts: ReportFacts = { consumer: null, recovery: null, managed: null, audit: null };

/** Every rule in the order in which a run meets them, and what they come to. */
export function judgeReport(basis: VerdictBasis): Verdict {
  const facts = basis.facts ?? noFacts;
  const evidence = { managed: facts.managed, recovery: facts.recovery };
  const [baseline, ...turn] = judgeManagedTurn(evidence);
  const consumer = judgeConsumer(facts.consumer);
  const managed = [
    baseline!,
    ...judgeRecovery(facts.recovery),
    ...turn,
    ...judgeAudit(facts.audit, basis.seats, facts.recovery?.runs_admitted),
    ...judgeManagedWork(facts.managed),
  ];
  const rules = [
    ...stageRule("stage_run", basis.failure, []),
    ...stageRule("stage_consumer", basis.consumer.failure, consumer),
    ...consumer,
    ...stageRule("stage_managed", basis.managed.failure, managed),
    ...managed,
    ...judgePrivacy(basis.canaries),
    judgeLeftovers(basis.census, basis.cleanup),
  ];
  return { outcome: outcomeOf(rules), rules, not_proven: notProven(rules, basis) };
}

/** `failed` over `incomplete` over `passed`. */
export function outcomeOf(rules: readonly Rule[]): Verdict["outcome"] {
  if (rules.some((rule) => rule.outcome === "fail")) return "failed";
  return rules.some((rule) => rule.outcome === "incomplete") ? "incomplete" : "passed";
}

/** The rule that decided: the first that failed, else the first that stayed incomplete for a reason of its own. */
export function decidingRule(rules: readonly Rule[]): Rule | undefined {
  return (
    rules.find((rule) => rule.outcome === "fail") ??
    rules.find((rule) => rule.outcome === "incomplete" && rule.code !== "not_reached") ??
    rules.find((rule) => rule.outcome === "incomplete")
  );
}

/** The code a stage of the harness ends with: of its first rule that did not hold. Undefined: every rule held. */
export function stageCode(rules: readonly Rule[]): string | undefined {
  const first = rules.find((rule) => rule.code !== undefined && rule.code !== "not_reached");
  return first?.code;
}

/** The same for the managed stage: an outage not seen in flight fails recovery, but not the managed work itself. */
export function managedStageCode(rules: readonly Rule[]): string | undefined {
  return stageCode(rules.filter((rule) => rule.rule !== "recovery_in_flight"));
}

/** Consumer, managed and recovery all have to hold, and every rule with them. */
export function runPassed(
  stages: { consumer: boolean; managed: boolean; recovery: boolean },
  verdict: Verdict,
): boolean {
  return stages.consumer && stages.managed && stages.recovery && verdict.outcome === "passed";
}

/** A stage that ended with a code no rule explains has a rule of its own, with that code. */
function stageRule(rule: string, failure: string | undefined, explaining: readonly Rule[]): Rule[] {
  const where = rule === "stage_run" ? "failure" : `${rule.slice("stage_".length)}.failure`;
  if (failure === undefined) return [{ rule, outcome: "pass", fact: "ended without a failure of its own", where }];
  if (explaining.some((other) => other.code === failure)) return [];
  const fact = sentenceOf(failure);
  // The managed stage's structured log is the relay's file, which is in the runner's care.
  const party = rule === "stage_managed" && failure === "structured_log_limit" ? "runner" : partyOf(failure);
  return [{ rule, outcome: outcomeOfCode(failure), code: failure, party, fact, where }];
}

function notProven(rules: readonly Rule[], { seats, census, facts }: VerdictBasis): string[] {
  const open = rules.filter((rule) => rule.outcome === "not_applicable").map((rule) => `${rule.rule}: ${rule.fact}`);
  const scripted = Object.entries(seats ?? {})
    .filter(([, seat]) => seat !== null && seat.kind !== "real")
    .map(([name, seat]) => `${name}: filled by ${seat?.name}; nothing is shown about another program`);
  const scope = census?.scope === "owned_group_only" ? ["processes that left their own group were not looked for"] : [];
  const outage =
    facts?.recovery?.phase_before_disconnect === "in_flight"
      ? ["the run was seen in flight before the outage; that it stayed active all through it is not shown"]
      : [];
  return [
    ...open,
    ...scripted,
    ...scope,
    ...outage,
    "lease expiry and a restart of the runner were not part of this run",
  ];
}
