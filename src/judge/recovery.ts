// Judges binding, observation, restart and identity: one run, the same three ids, seen in flight before the outage.
// The step decision is a pure function, so that the harness and `verify` come to the same phase.
import { counted } from "../base/counted.ts";
import {
  type ExecutionIds,
  type ObservationFact,
  type RecoveryFacts,
  type Rule,
  terminalStates,
} from "../contract/report.ts";
import type { JudgeCode } from "./codes.ts";
import { ended, notReached, passed, type RuleName } from "./rule.ts";

const names = {
  replay: { rule: "binding_replay", where: "facts.recovery.replay_run_id" },
  observed: { rule: "recovery_observation", where: "facts.recovery.observations" },
  runner: { rule: "recovery_runner", where: "facts.recovery.runner_ended" },
  identity: { rule: "recovery_identity", where: "facts.recovery.reconciled" },
  ended: { rule: "managed_observation", where: "facts.recovery.observations" },
  inFlight: { rule: "recovery_in_flight", where: "facts.recovery.phase_before_disconnect" },
} as const satisfies Record<string, RuleName>;

const runStates: readonly string[] = ["starting", "running", "waiting_permission", ...terminalStates];
const executionStates: readonly string[] = ["not_started", "started", "completed", "outcome_unknown"];

/** Where a run stood when the server was ended. */
export type DisconnectPhase = "in_flight" | "before_prompt" | "terminal" | "waiting_permission" | "outcome_unknown";

/** What one answer before the restart means: go on waiting, decide, or refuse. */
export type StepDecision =
  | { readonly kind: "wait" }
  | { readonly kind: "decided"; readonly phase: DisconnectPhase }
  | { readonly kind: "refused"; readonly code: JudgeCode };

export function isTerminal(state: string | null | undefined): boolean {
  return (terminalStates as readonly string[]).includes(state ?? "");
}

/** Checks an answer before it is stored: right run, known states, whole history. */
export function observationCode(step: ObservationFact, runId: string | null): JudgeCode | null {
  if (step.run_id === null || step.run_id !== runId) return "recovery_observed_wrong_run";
  if (step.when === "before_restart" && !knownStates(step)) return "recovery_execution_state_missing";
  return step.history_lost === false ? null : "managed_event_history_lost";
}

/** Decides after the answer was stored. Running alone keeps waiting: only execution that began is in flight. */
export function decideStep(step: ObservationFact): StepDecision {
  if (!knownStates(step)) return { kind: "refused", code: "recovery_execution_state_missing" };
  if (step.execution_state === "outcome_unknown") return { kind: "decided", phase: "outcome_unknown" };
  if (isTerminal(step.state))
    return { kind: "decided", phase: step.execution_state === "not_started" ? "before_prompt" : "terminal" };
  if (step.state === "running" && step.execution_state === "started") return { kind: "decided", phase: "in_flight" };
  if (step.state === "waiting_permission") return { kind: "decided", phase: "waiting_permission" };
  return step.has_token ? { kind: "wait" } : { kind: "refused", code: "recovery_observation_token_missing" };
}

/** After the restart the loop ends only at a terminal state with no more events waiting. */
export function observationEnds(step: ObservationFact): boolean {
  return isTerminal(step.state) && !step.has_more;
}

/** The three ids an execution keeps for its whole life. */
export function sameExecution(bound: ExecutionIds, seen: ExecutionIds): boolean {
  return (
    bound.task_id !== null &&
    bound.attempt_id !== null &&
    bound.run_id !== null &&
    bound.task_id === seen.task_id &&
    bound.attempt_id === seen.attempt_id &&
    bound.run_id === seen.run_id
  );
}

/** Events of all answers, counted by kind. */
export function eventKinds(observations: readonly ObservationFact[]): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const step of observations)
    for (const [kind, count] of Object.entries(step.events)) kinds[kind] = (kinds[kind] ?? 0) + count;
  return kinds;
}

/** Every rule about binding, observation, restart and identity. */
export function judgeRecovery(facts: RecoveryFacts | null): Rule[] {
  if (facts === null) return Object.values(names).map(notReached);
  return [
    replayRule(facts),
    beforeRule(facts),
    runnerRule(facts),
    identityRule(facts),
    afterRule(facts),
    inFlightRule(facts),
  ];
}

function knownStates(step: ObservationFact): boolean {
  return runStates.includes(step.state ?? "") && executionStates.includes(step.execution_state ?? "");
}

function replayRule(facts: RecoveryFacts): Rule {
  if (facts.bound.run_id === null || facts.replay_run_id === null) return notReached(names.replay);
  return facts.replay_run_id === facts.bound.run_id
    ? passed(names.replay, "the repeated start gave the same run")
    : ended(names.replay, "binding_replay_changed_run", "the repeated start gave another run");
}

function beforeRule(facts: RecoveryFacts): Rule {
  const steps = facts.observations.filter((step) => step.when === "before_restart");
  const fact = `${counted(steps.length, "answer")} before the restart`;
  for (const [index, step] of steps.entries()) {
    const code = observationCode(step, facts.bound.run_id);
    if (code !== null) return ended(names.observed, code, fact);
    const decision = decideStep(step);
    if (decision.kind === "refused") return ended(names.observed, decision.code, fact);
    if (decision.kind === "decided" && index === steps.length - 1 && decision.phase === facts.phase_before_disconnect)
      return passed(names.observed, `${fact}, the last one: ${decision.phase}`);
  }
  if (facts.observation_deadline === "before_restart")
    return ended(names.observed, "recovery_observation_deadline", fact);
  return notReached(names.observed);
}

function runnerRule(facts: RecoveryFacts): Rule {
  const codes = {
    before_restart: "runner_exited_before_restart",
    server_stop: "runner_did_not_survive_server_stop",
    during_run: "runner_exited_during_run",
  } as const satisfies Record<string, JudgeCode>;
  if (facts.runner_ended !== null) return ended(names.runner, codes[facts.runner_ended], "the runner's process ended");
  if (facts.runner_pid_before === null || facts.runner_pid_after === null) return notReached(names.runner);
  return facts.runner_pid_before === facts.runner_pid_after
    ? passed(names.runner, `runner ${facts.runner_pid_before} lived through the outage`)
    : ended(names.runner, "runner_did_not_survive_server_stop", "the runner's process is another one");
}

function identityRule(facts: RecoveryFacts): Rule {
  if (facts.task_id_after_restart === null) return notReached(names.identity);
  if (facts.task_id_after_restart !== facts.bound.task_id)
    return ended(names.identity, "server_restart_changed_task", "the task read after the restart has another id");
  if (facts.reconciled === null) return notReached(names.identity);
  const again = facts.reconciled_at_end;
  if (!sameExecution(facts.bound, facts.reconciled) || (again !== null && !sameExecution(facts.bound, again)))
    return ended(names.identity, "recovery_changed_execution_identity", "an id after the restart is another one");
  if (again === null) return notReached(names.identity);
  return passed(names.identity, "task, attempt and run kept their ids through the outage and at the end");
}

function afterRule(facts: RecoveryFacts): Rule {
  const steps = facts.observations.filter((step) => step.when === "after_restart");
  const fact = `${counted(steps.length, "answer")} after the restart`;
  for (const step of steps) {
    const code = observationCode(step, facts.bound.run_id);
    if (code !== null) return ended(names.ended, code, fact);
  }
  const last = steps.at(-1);
  if (last !== undefined && observationEnds(last)) return passed(names.ended, `${fact}, the last one: ${last.state}`);
  if (facts.observation_deadline === "after_restart") return ended(names.ended, "managed_observation_deadline", fact);
  return notReached(names.ended);
}

function inFlightRule(facts: RecoveryFacts): Rule {
  const phase = facts.phase_before_disconnect;
  if (phase === null || facts.new_server_pid === null) return notReached(names.inFlight);
  if (phase !== "in_flight") {
    const rule = ended(names.inFlight, "in_flight_restart_not_observed", `the run stood at ${phase}`);
    // A runner writes an end down before it tells of it: an end its journal does not hold is the server's own word.
    const invented = (phase === "terminal" || phase === "before_prompt") && facts.ended_in_journal === false;
    return invented ? { ...rule, party: "server", fact: `${rule.fact}; the runner's journal held no end` } : rule;
  }
  return facts.new_server_pid === facts.old_server_pid
    ? ended(names.inFlight, "in_flight_restart_not_observed", "the server's process is the same one")
    : passed(names.inFlight, `server ${facts.old_server_pid} was ended in flight, ${facts.new_server_pid} took over`);
}
