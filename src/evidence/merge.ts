// Joins many finished reports into one summary and one page. A report that cannot be read is a row of its own.
import { codeOf, Failure } from "../base/failure.ts";
import type { EvidenceCode } from "./codes.ts";
import { escapeXml } from "./junit.ts";
import { evidenceLimits } from "./limits.ts";
import { badge, page, section, table } from "./page.ts";
import { verify } from "./verify.ts";

export interface MergedRow {
  readonly path: string;
  readonly state: "passed" | "failed" | "unreadable";
  readonly agrees: boolean;
  readonly decided_by: string | null;
  readonly code: string | null;
  readonly findings: number;
  readonly digest: string | null;
}
export interface Merged {
  readonly reports: number;
  readonly passed: number;
  readonly failed: number;
  readonly unreadable: number;
  readonly all_passed: boolean;
  readonly rows: readonly MergedRow[];
}

/** Verifies each report and joins the outcomes, in the given order. */
export function merge(paths: readonly string[]): Merged {
  if (paths.length === 0) throw new Failure<EvidenceCode>("merge_nothing_given");
  if (paths.length > evidenceLimits.mergedReports) throw new Failure<EvidenceCode>("merge_too_many");
  const rows = paths.map(rowOf);
  const count = (state: MergedRow["state"]) => rows.filter((row) => row.state === state).length;
  return {
    reports: rows.length,
    passed: count("passed"),
    failed: count("failed"),
    unreadable: count("unreadable"),
    all_passed: rows.every((row) => row.state === "passed" && row.agrees),
    rows,
  };
}

/** One page over all of them. */
export function renderMerged(merged: Merged): string {
  const rows = merged.rows.map((row) => [
    row.path,
    { markup: badge(row.state) },
    row.agrees ? "agrees" : `${row.findings} findings`,
    row.decided_by === null ? (row.code ?? "every rule held") : `${row.decided_by} (${row.code ?? "no code"})`,
    { markup: `<code>${escapeXml(row.digest ?? "")}</code>` },
  ]);
  const lead = `${merged.passed} of ${merged.reports} passed, ${merged.failed} failed, ${merged.unreadable} could not be read.`;
  return page("Acceptance of many hosts", [
    `<header><h1>Acceptance of many hosts ${badge(merged.all_passed ? "passed" : "failed")}</h1><p class="lead">${lead}</p></header>`,
    section(
      "reports",
      "Reports",
      table("One row a report", ["Report", "State", "Verified", "Decided by", "Digest"], rows),
    ),
  ]);
}

function rowOf(path: string): MergedRow {
  try {
    const found = verify(path);
    return {
      path,
      state: found.state,
      agrees: found.agrees,
      decided_by: found.decided_by?.rule ?? null,
      code: found.decided_by?.code ?? null,
      findings: found.findings.length,
      digest: found.digest,
    };
  } catch (error) {
    // One unreadable report must not hide the others.
    const nothing = { agrees: false, decided_by: null, findings: 0, digest: null };
    return { path, state: "unreadable", ...nothing, code: codeOf(error) };
  }
}
