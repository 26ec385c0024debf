// Recomputes a finished report's verdict from its recorded facts and the files beside it, offline.
// It finds what does not agree. A consistent rewrite of everything is found only with the digest printed at the run.
import { Failure } from "../base/failure.ts";
import type { Report, Verdict } from "../contract/report.ts";
import { decidingRule, judgeReport, runPassed } from "../judge/verdict.ts";
import { checkAuditFile } from "./audit-file.ts";
import type { EvidenceCode, Finding } from "./codes.ts";
import { crossCheck, sameValue } from "./cross-check.ts";
import { loadReport } from "./load.ts";
import { compareManifest, manifestGaps } from "./manifest.ts";

export interface Verification {
  /** Every recorded outcome is what the facts come to, and nothing was found changed. */
  readonly agrees: boolean;
  /** What the run came to, recomputed; null when the report cannot be judged. */
  readonly verdict: Verdict | null;
  readonly state: "passed" | "failed";
  readonly decided_by: {
    readonly rule: string;
    readonly outcome: string;
    readonly code: string | null;
    readonly where: string;
  } | null;
  readonly findings: readonly Finding[];
  readonly digest: string;
  readonly digest_checked: boolean;
  readonly reach: string;
}

const reaches = {
  consistent: "No digest was given: only changes that contradict something else are found.",
  complete: "Compared with the given digest: any change of the report or a listed file is found.",
} as const;

/** Verifies a report folder or file. */
export function verify(path: string, options: { readonly digest?: string | undefined } = {}): Verification {
  const wanted = options.digest?.trim().toLowerCase();
  if (wanted !== undefined && !/^[0-9a-f]{64}$/.test(wanted)) throw new Failure<EvidenceCode>("report_digest_invalid");
  const loaded = loadReport(path);
  const findings: Finding[] = [];
  if (wanted !== undefined && wanted !== loaded.digest)
    findings.push({ code: "digest_mismatch", where: "report.json" });
  findings.push(...loaded.problems.map((where): Finding => ({ code: "report_shape", where })));
  const { report } = loaded;
  const verdict = report === null ? null : judgeReport(report);
  if (report !== null && verdict !== null) findings.push(...checkReport(report, verdict, loaded.folder));
  const decided = verdict === null ? undefined : decidingRule(verdict.rules);
  return {
    agrees: findings.length === 0,
    verdict,
    state: report !== null && verdict !== null && passes(report, verdict) ? "passed" : "failed",
    decided_by:
      decided === undefined
        ? null
        : { rule: decided.rule, outcome: decided.outcome, code: decided.code ?? null, where: decided.where },
    findings,
    digest: loaded.digest,
    digest_checked: wanted !== undefined,
    reach: wanted === undefined ? reaches.consistent : reaches.complete,
  };
}

function checkReport(report: Report, verdict: Verdict, folder: string): Finding[] {
  return [
    ...closedFindings(report),
    ...verdictFindings(report, verdict),
    ...stageFindings(report, verdict),
    ...crossCheck(report),
    ...manifestGaps(report),
    ...(report.manifest === undefined ? [] : compareManifest(folder, report.manifest)),
    ...checkAuditFile(folder, report),
  ];
}

function closedFindings(report: Report): Finding[] {
  const closed = report.phase === "closed" && report.finished_at_unix !== undefined && report.state !== "running";
  return closed ? [] : [{ code: "report_not_closed", where: "phase" }];
}

function verdictFindings(report: Report, verdict: Verdict): Finding[] {
  const said = report.verdict;
  if (said === undefined || report.facts === undefined) return [{ code: "verdict_missing", where: "verdict" }];
  const findings: Finding[] = [];
  for (const rule of verdict.rules) {
    const recorded = said.rules.find((other) => other.rule === rule.rule);
    if (recorded === undefined) findings.push({ code: "rule_missing", where: rule.rule });
    else if (!sameValue(recorded, rule)) findings.push({ code: "rule_edited", where: rule.rule });
  }
  const known = new Set(verdict.rules.map((rule) => rule.rule));
  const unknown = said.rules.filter((rule) => !known.has(rule.rule));
  findings.push(...unknown.map((rule): Finding => ({ code: "rule_unknown", where: rule.rule })));
  if (said.outcome !== verdict.outcome) findings.push({ code: "outcome_edited", where: "verdict.outcome" });
  if (!sameValue(said.not_proven, verdict.not_proven))
    findings.push({ code: "not_proven_edited", where: "verdict.not_proven" });
  return findings;
}

function stageFindings(report: Report, verdict: Verdict): Finding[] {
  const findings: Finding[] = [];
  const state = passes(report, verdict) ? "passed" : "failed";
  if (report.state !== state) findings.push({ code: "state_edited", where: "state" });
  for (const stage of ["consumer", "managed", "recovery"] as const)
    if (report[stage].passed && !stageHolds(stage, verdict))
      findings.push({ code: "stage_edited", where: `${stage}.passed` });
  return findings;
}

function stageHolds(stage: "consumer" | "managed" | "recovery", verdict: Verdict): boolean {
  const mine = verdict.rules.filter((rule) =>
    stage === "recovery" ? rule.rule === "recovery_in_flight" : rule.rule.startsWith(`${stage}_`),
  );
  return mine.every((rule) => rule.outcome === "pass" || rule.outcome === "not_applicable");
}

function passes(report: Report, verdict: Verdict): boolean {
  const { consumer, managed, recovery } = report;
  return runPassed({ consumer: consumer.passed, managed: managed.passed, recovery: recovery.passed }, verdict);
}
