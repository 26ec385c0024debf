// The stretches of time of a run, read from its checkpoints: what ran from when to when, and how long the server was
// away. Pure; what never began is left out, what never ended lasts to the end of the run.
import type { Report, TimelineEntry } from "../contract/report.ts";

/** One bar of the picture; seconds after the run's start. */
export interface Span {
  readonly label: string;
  readonly kind: "work" | "outage";
  readonly from: number;
  readonly to: number;
}

const managedEnds = ["managed_and_recovery_accepted", "managed_accepted_recovery_incomplete", "managed_failed"];

const stretches: ReadonlyArray<{ label: string; kind: Span["kind"]; from: readonly string[]; to: readonly string[] }> =
  [
    { label: "Set-up", kind: "work", from: ["preflight"], to: ["consumer_running", "attempt_claimed"] },
    { label: "Consumer reads", kind: "work", from: ["consumer_running"], to: ["consumer_accepted", "consumer_failed"] },
    { label: "Managed run", kind: "work", from: ["attempt_claimed"], to: managedEnds },
    { label: "Server away", kind: "outage", from: ["before_server_restart"], to: ["server_recovered_original_run"] },
    { label: "Clean-up", kind: "work", from: managedEnds, to: ["closed"] },
  ];

/** The bars of a report in the order they began. */
export function spansOf(report: Report): Span[] {
  const entries = report.timeline ?? [];
  const end = Math.max(report.finished_at_unix ?? report.updated_at_unix, entries.at(-1)?.at_unix ?? 0);
  return stretches.flatMap(({ label, kind, from, to }) => {
    const began = secondsAt(entries, from);
    if (began === undefined) return [];
    const ended = secondsAt(entries, to, began) ?? end;
    return [{ label, kind, from: began - report.started_at_unix, to: ended - report.started_at_unix }];
  });
}

function secondsAt(entries: readonly TimelineEntry[], whats: readonly string[], after = 0): number | undefined {
  return entries.find((entry) => entry.at_unix >= after && whats.includes(entry.what))?.at_unix;
}
