// What may come of ending one process at one named point: the legal outcomes as data, and a check of a finished run.
// Three things hold at every point: at most one prompt, the same three ids, and no pass that was not earned.
import type { ReportFacts, Verdict } from "../contract/report.ts";
import { sameExecution } from "./recovery.ts";

export const faultPoints = [
  "before-bind",
  "before-dispatch",
  "after-dispatch",
  "after-prompt",
  "before-terminal",
  "after-terminal",
] as const;
export type FaultPoint = (typeof faultPoints)[number];
export type FaultTarget = "server" | "runner" | "adapter" | "consumer";

type Outcomes = ReadonlyArray<Verdict["outcome"]>;

const refused: Outcomes = ["failed", "incomplete"];
const recovers: Outcomes = ["passed", "failed", "incomplete"];

/** Legal outcomes by the process that was ended and the point at which it was. */
export const faultOutcomes: Readonly<Record<FaultTarget, Readonly<Record<FaultPoint, Outcomes>>>> = {
  server: {
    "before-bind": refused,
    "before-dispatch": recovers,
    "after-dispatch": recovers,
    "after-prompt": recovers,
    "before-terminal": recovers,
    "after-terminal": recovers,
  },
  runner: {
    "before-bind": refused,
    "before-dispatch": refused,
    "after-dispatch": refused,
    "after-prompt": refused,
    "before-terminal": refused,
    "after-terminal": refused,
  },
  adapter: {
    "before-bind": refused,
    "before-dispatch": refused,
    "after-dispatch": refused,
    "after-prompt": refused,
    "before-terminal": refused,
    "after-terminal": recovers,
  },
  consumer: {
    "before-bind": refused,
    "before-dispatch": refused,
    "after-dispatch": refused,
    "after-prompt": refused,
    "before-terminal": refused,
    "after-terminal": refused,
  },
};

export type FaultBreach = "illegal_outcome" | "second_prompt" | "changed_identity" | "unearned_pass";

/** What a run with a fault broke of the table; empty when it was legal. */
export function faultBreaches(
  fault: { readonly target: FaultTarget; readonly point: FaultPoint },
  run: { readonly outcome: Verdict["outcome"]; readonly facts: ReportFacts },
): FaultBreach[] {
  const { audit, recovery } = run.facts;
  const prompts = audit?.prompts.length ?? 0;
  const seen = [recovery?.reconciled, recovery?.reconciled_at_end].filter((ids) => ids !== null && ids !== undefined);
  const kept = recovery === null || seen.every((ids) => sameExecution(recovery.bound, ids));
  const breaches: FaultBreach[] = [];
  if (!faultOutcomes[fault.target][fault.point].includes(run.outcome)) breaches.push("illegal_outcome");
  if (prompts > 1) breaches.push("second_prompt");
  if (!kept) breaches.push("changed_identity");
  if (run.outcome === "passed" && (prompts !== 1 || seen.length === 0)) breaches.push("unearned_pass");
  return breaches;
}

/** The table as Markdown, for the docs. */
export function faultTableMarkdown(): string {
  const targets = Object.keys(faultOutcomes) as FaultTarget[];
  const rows = faultPoints.map((point) => {
    const cells = targets.map((target) => faultOutcomes[target][point].join(", "));
    return `| ${point} | ${cells.join(" | ")} |`;
  });
  return [`| point | ${targets.join(" | ")} |`, `|---|${targets.map(() => "---|").join("")}`, ...rows].join("\n");
}
