// What an operator has to know about a run that did not come to its end: its exact ids, where its evidence lies, and
// what to do first. Read from the last report on disk; nothing is guessed.
import { join } from "node:path";
import { isRecord, parseJson } from "../base/json.ts";
import { readPrivateFile } from "../base/private-files.ts";
import type { Fields } from "./report-book.ts";

const idPattern = /^[A-Za-z0-9_.:-]{1,200}$/;
const maxReportBytes = 16 * 1024 * 1024;

/** Lines about the run in this folder; empty when it had bound no execution or came to a known end. */
export function unfinishedAdvice(outputDir: string): string[] {
  let report: unknown;
  try {
    report = parseJson(readPrivateFile(join(outputDir, "report.json"), { maxBytes: maxReportBytes }));
  } catch {
    return []; // killed before its first report: there is nothing to name
  }
  return isRecord(report) ? adviceFor(report) : [];
}

/** The same for a report in hand. */
export function adviceFor(report: Fields): string[] {
  const managed = isRecord(report["managed"]) ? report["managed"] : {};
  const cleanup = isRecord(report["cleanup"]) ? report["cleanup"] : {};
  if (cleanup["execution_terminal_observed"] === true || managed["attempt_id"] === undefined) return [];
  const ids = ["task_id", "attempt_id", "run_id"].map((name) => {
    const value = managed[name];
    return `${name} ${typeof value === "string" && idPattern.test(value) ? value : "(not known)"}`;
  });
  return [
    `The end of its execution was not seen: ${ids.join(", ")}.`,
    "Observe or reconcile exactly this execution before any replacement is started; private/recovery.json says how to reach its server.",
  ];
}
