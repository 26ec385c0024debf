// Codes of the judge that no subject is refused with, each with the reason: no seat can bring them about from outside,
// or the harness's own tests are the only ones that can hold the moment. The docs are generated from it.
import type { JudgeCode } from "../judge/codes.ts";

export const beyondSubjects = {
  structured_log_limit:
    "A log in bounds while its writer ran and too long a moment later needs a writer that outlives its leader by just that moment; tests of the harness hold it there. A flood that lasts is `consumer_output_limit`.",
  baseline_should_fail:
    "The harness writes the failing project and runs its tests before any seat touches it; only a broken interpreter of the host can make them pass.",
  leftover_processes:
    "Clean-up ends whatever a subject leaves, and what a consumer leaves is `consumer_left_process` before that; what the kernel does not let go, or belongs to another user, cannot be made by a program of ours.",
  leftover_unknown: "The census is always taken; only a report that was cut or edited has none.",
  private_scan_missing: "The search is always made; only a report that was cut or edited has none.",
  private_mode_wrong:
    "The harness alone makes its private files. Any program of the same user can change their modes and nothing tells which one did, so the promise and the blame are the harness's.",
  not_reached: "It never decides: it says that an earlier rule did.",
} as const satisfies Partial<Record<JudgeCode, string>>;

/** The list as Markdown, for the docs. */
export function beyondMarkdown(): string {
  const rows = Object.entries(beyondSubjects).map(([code, why]) => `| \`${code}\` | ${why} |`);
  return ["| code | why no subject is refused with it |", "|---|---|", ...rows].join("\n");
}
