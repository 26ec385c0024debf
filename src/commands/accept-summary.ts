// One screen a stranger understands: what ran in which seat, what was shown, what was not, and where it lies.
import { sha256FileHex } from "../base/bytes.ts";
import { Report } from "../contract/report.ts";
import { adviceFor } from "../harness/unfinished.ts";
import { decidingRule } from "../judge/verdict.ts";

/** The finished report in at most some thirty lines. */
export function acceptSummary(value: Record<string, unknown>): string {
  const parsed = Report.safeParse(value);
  if (!parsed.success) return `The run ended as ${String(value["state"])}, but its report has an unexpected shape.`;
  const report = parsed.data;
  const { verdict, census, seats } = report;
  const rules = verdict?.rules ?? [];
  const count = (outcome: string) => rules.filter((rule) => rule.outcome === outcome).length;
  const deciding = report.state === "passed" ? undefined : decidingRule(rules);
  const seconds = (report.finished_at_unix ?? report.updated_at_unix) - report.started_at_unix;
  const stage = (name: "consumer" | "managed" | "recovery") =>
    `  ${name.padEnd(10)} ${report[name].passed ? "passed" : `not passed (${report[name].failure ?? "see the rules"})`}`;
  return [
    `${report.state === "passed" ? "PASSED" : `FAILED (${verdict?.outcome ?? "no verdict"})`} in ${seconds.toFixed(1)} s`,
    ...Object.entries(seats ?? {}).map(([name, seat]) =>
      seat === null ? `  ${name}: none` : `  ${name.replace("_", " ")}: ${seat.name} ${seat.version} (${seat.kind})`,
    ),
    stage("consumer"),
    stage("managed"),
    stage("recovery"),
    `  rules: ${count("pass")} held, ${count("fail")} failed, ${count("incomplete")} incomplete, ${count("not_applicable")} not applicable`,
    ...(report.failure === undefined ? [] : [`  failure: ${report.failure}`]),
    ...(deciding === undefined
      ? []
      : [`  decided by ${deciding.rule}: ${deciding.code ?? ""} (${deciding.party ?? ""})`]),
    `  processes: ${census?.started.length ?? 0} started, ${census?.still_visible.length ?? 0} still visible`,
    ...adviceFor(value).map((line) => `  ${line}`),
    `  evidence: ${report.output_dir}`,
    `  digest of report.json: ${sha256FileHex(`${report.output_dir}/report.json`)}`,
  ].join("\n");
}
