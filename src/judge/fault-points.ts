// What may come of ending one process at one named point: the legal outcomes as data, and a check of a finished run.
// Four things hold everywhere: the point was reached, at most one prompt, the same three ids, and no unearned pass.
import type { FaultFact, ReportFacts, Verdict } from "../contract/report.ts";
import { sameExecution } from "./recovery.ts";

/** In the order in which a run comes by: the first three inside the server, the others inside the runner. */
export const faultPoints = [
  "before_bind",
  "after_bind",
  "after_dispatch",
  "after_prompt_barrier",
  "before_terminal",
  "after_terminal",
] as const;
export type FaultPoint = (typeof faultPoints)[number];
export const faultTargets = ["server", "runner", "adapter", "consumer"] as const;
export type FaultTarget = (typeof faultTargets)[number];
export type FaultSignal = "SIGINT" | "SIGKILL";

/** One process to end, with one signal, at one point. */
export interface Fault {
  readonly point: FaultPoint;
  readonly signal: FaultSignal;
  readonly target: FaultTarget;
}

type Outcomes = ReadonlyArray<Verdict["outcome"]>;

const passes: Outcomes = ["passed"];
const fails: Outcomes = ["failed"];
const refused: Outcomes = ["failed", "incomplete"];

/** Legal outcomes by the process that was ended and the point at which it was. */
export const faultOutcomes: Readonly<Record<FaultTarget, Readonly<Record<FaultPoint, Outcomes>>>> = {
  // A server that comes back with its data goes on: the start is repeated, the run is found, nothing is sent twice.
  server: {
    before_bind: passes,
    after_bind: passes,
    after_dispatch: passes,
    after_prompt_barrier: passes,
    before_terminal: passes,
    after_terminal: passes,
  },
  // A runner is not started again. Only what was told before its end can still pass.
  runner: {
    before_bind: fails,
    after_bind: fails,
    after_dispatch: fails,
    after_prompt_barrier: fails,
    before_terminal: fails,
    after_terminal: ["passed", "failed"],
  },
  // Before its prompt an adapter's end is certain, after it nobody can say what it did.
  adapter: {
    before_bind: refused,
    after_bind: refused,
    after_dispatch: refused,
    after_prompt_barrier: ["incomplete"],
    before_terminal: ["passed", "incomplete"],
    after_terminal: passes,
  },
  // Its turn is over before the run is bound: it is ended in the middle of that turn, whichever point is named.
  consumer: {
    before_bind: fails,
    after_bind: fails,
    after_dispatch: fails,
    after_prompt_barrier: fails,
    before_terminal: fails,
    after_terminal: fails,
  },
};

/** Every fault there is: the server by both signals, the others by SIGKILL. */
export const allFaults: readonly Fault[] = faultTargets.flatMap((target) =>
  faultPoints.flatMap((point) =>
    (target === "server" ? (["SIGINT", "SIGKILL"] as const) : (["SIGKILL"] as const)).map((signal) => ({
      point,
      signal,
      target,
    })),
  ),
);

/** `POINT:SIGNAL[:TARGET]` as a fault; the target is the server where none is named. Null for anything else. */
export function parseFault(text: string): Fault | null {
  const [point, signal, target = "server", ...more] = text.split(":");
  return more.length > 0
    ? null
    : (allFaults.find((one) => one.point === point && one.signal === signal && one.target === target) ?? null);
}

export type FaultBreach =
  | "fault_not_reached"
  | "illegal_outcome"
  | "second_prompt"
  | "changed_identity"
  | "unearned_pass";

/** What a run with a fault broke of the table; empty when it was legal. */
export function faultBreaches(
  fault: Pick<FaultFact, "point" | "target" | "fired">,
  run: { readonly outcome: Verdict["outcome"]; readonly facts: ReportFacts },
): FaultBreach[] {
  const { audit, recovery } = run.facts;
  const prompts = audit?.prompts.length ?? 0;
  const seen = [recovery?.reconciled, recovery?.reconciled_at_end].filter((ids) => ids !== null && ids !== undefined);
  const kept = recovery === null || seen.every((ids) => sameExecution(recovery.bound, ids));
  const breaches: FaultBreach[] = [];
  if (!fault.fired) breaches.push("fault_not_reached");
  if (!faultOutcomes[fault.target][fault.point].includes(run.outcome)) breaches.push("illegal_outcome");
  if (prompts > 1) breaches.push("second_prompt");
  if (!kept) breaches.push("changed_identity");
  if (run.outcome === "passed" && (prompts !== 1 || seen.length === 0)) breaches.push("unearned_pass");
  return breaches;
}

/** The table as Markdown, for the docs. */
export function faultTableMarkdown(): string {
  const rows = faultPoints.map((point) => {
    const cells = faultTargets.map((target) => faultOutcomes[target][point].join(", "));
    return `| \`${point}\` | ${cells.join(" | ")} |`;
  });
  return [`| point | ${faultTargets.join(" | ")} |`, `|---|${faultTargets.map(() => "---|").join("")}`, ...rows].join(
    "\n",
  );
}
