// Waiting for a run by asking: before the restart until it stands somewhere definite, after it until it has ended.
// Decisions are the judge's pure functions; here are only the order, the clock and what is stored before deciding.
import { type Clock, holdsWithin, systemClock } from "../base/clock.ts";
import { Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import type { ObservationFact } from "../contract/report.ts";
import type { JudgeCode } from "../judge/codes.ts";
import { type DisconnectPhase, decideStep, eventKinds, observationCode, observationEnds } from "../judge/recovery.ts";
import { harnessLimits } from "./limits.ts";
import type { Fields } from "./report-book.ts";

export interface ObservationPorts {
  readonly observe: (request: Fields) => Promise<Fields>;
  readonly runnerRunning: () => boolean;
  /** Called with everything seen so far, before a decision is taken. */
  readonly stored: (steps: readonly ObservationFact[]) => void;
  readonly clock?: Clock;
}

/** Reduces an answer of `observe_coding_agent` to what the rules weigh. */
export function observationFact(answer: Fields, when: ObservationFact["when"], atMs: number): ObservationFact {
  const word = (name: string) => (typeof answer[name] === "string" ? (answer[name] as string).slice(0, 200) : null);
  const lost = answer["history_lost"];
  const token = answer["observation_token"];
  return {
    when,
    at_ms: Math.max(0, Math.round(atMs)),
    run_id: word("run_id"),
    state: word("state"),
    execution_state: word("execution_state"),
    // After the restart the seed asks for "not lost", so a field left out is no loss there.
    history_lost: typeof lost === "boolean" ? lost : when === "after_restart" && lost === undefined ? false : null,
    has_token: typeof token === "string" && token !== "",
    has_more: answer["has_more"] === true,
    events: countEvents(answer["events"]),
  };
}

/** Asks until the run is in flight, or stands somewhere else that ends the wait. */
export async function observeBeforeRestart(
  runId: string,
  options: ObservationPorts & { readonly withinMs: number; readonly steps: ObservationFact[] },
): Promise<{ phase: DisconnectPhase; answer: Fields }> {
  const { clock = systemClock, steps } = options;
  const started = clock.monotonicMs();
  const inTime = () => {
    if (clock.monotonicMs() - started >= options.withinMs) fail("recovery_observation_deadline");
  };
  let token: unknown;
  for (;;) {
    inTime();
    if (!options.runnerRunning()) fail("runner_exited_before_restart");
    const question = request(runId, harnessLimits.observeWaitS, token);
    const answer = await ask(question, { ...options, clock, gone: "runner_exited_before_restart" });
    const step = observationFact(answer, "before_restart", clock.monotonicMs() - started);
    const code = observationCode(step, runId);
    steps.push(step);
    if (code !== null) fail(code);
    options.stored(steps);
    inTime();
    const decision = decideStep(step);
    if (decision.kind === "refused") fail(decision.code);
    if (decision.kind === "decided") return { phase: decision.phase, answer };
    token = answer["observation_token"];
  }
}

/** Asks, from the beginning and without an old token, until the run has ended and no event is waiting. */
export async function observeAfterRestart(
  runId: string,
  options: ObservationPorts & { readonly withinMs: number; readonly steps: ObservationFact[] },
): Promise<Fields> {
  const { clock = systemClock, steps } = options;
  const started = clock.monotonicMs();
  let token: unknown;
  for (;;) {
    const question = request(runId, harnessLimits.recoveryWaitS, token);
    const answer = await ask(question, { ...options, clock, gone: "runner_exited_during_run" });
    const step = observationFact(answer, "after_restart", clock.monotonicMs() - started);
    if (step.run_id !== runId) fail("recovery_observed_wrong_run");
    steps.push(step);
    options.stored(steps);
    const code = observationCode(step, runId);
    if (code !== null) fail(code);
    if (observationEnds(step)) return answer;
    if (clock.monotonicMs() - started >= options.withinMs) fail("managed_observation_deadline");
    if (!options.runnerRunning()) fail("runner_exited_during_run");
    token = answer["observation_token"];
  }
}

/** Consecutive equal states once. */
export function statesOf(steps: readonly ObservationFact[]): string[] {
  const states: string[] = [];
  for (const { state } of steps) if (state !== null && states.at(-1) !== state) states.push(state);
  return states;
}

export { eventKinds };

/** A server whose runner has just ended refuses rightly: the runner's end is what is told then. */
async function ask(
  question: Fields,
  options: Pick<ObservationPorts, "observe" | "runnerRunning"> & { readonly clock: Clock; readonly gone: JudgeCode },
): Promise<Fields> {
  try {
    return await options.observe(question);
  } catch (error) {
    const { clock, runnerRunning } = options;
    const withinMs = harnessLimits.runnerGoneMs;
    const refused = error instanceof Failure && error.code.startsWith("tool_");
    if (refused && (await holdsWithin(() => !runnerRunning(), { withinMs, everyMs: 20, clock }))) fail(options.gone);
    throw error;
  }
}

function request(runId: string, waitS: number, token: unknown): Fields {
  const base = { run_id: runId, wait_secs: waitS };
  return typeof token === "string" && token !== "" ? { ...base, after_observation_token: token } : base;
}

function countEvents(events: unknown): Record<string, number> {
  const counts: Record<string, number> = {};
  if (!Array.isArray(events)) return counts;
  for (const event of events) {
    const kind = isRecord(event) && typeof event["kind"] === "string" ? event["kind"].slice(0, 100) : "unknown";
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function fail(code: JudgeCode): never {
  throw new Failure<JudgeCode>(code);
}
