// A report as JUnit XML: one suite a run, one case a rule. Failed rules are failures, incomplete ones errors,
// and what no seat could answer is skipped.
import { visible } from "../base/visible.ts";
import type { Report, Rule } from "../contract/report.ts";
import { sentenceOf } from "../judge/codes.ts";

/** The JUnit document of one report; `digest` is that of its bytes. */
export function renderJunit(report: Report, digest: string): string {
  const rules = report.verdict?.rules ?? [];
  const count = (outcome: Rule["outcome"]) => rules.filter((rule) => rule.outcome === outcome).length;
  const seconds = Math.max(0, (report.finished_at_unix ?? report.updated_at_unix) - report.started_at_unix).toFixed(3);
  const totals = `tests="${rules.length}" failures="${count("fail")}" errors="${count("incomplete")}" skipped="${count("not_applicable")}" time="${seconds}"`;
  const properties = [
    ["report_digest", digest],
    ["state", report.state],
    ["outcome", report.verdict?.outcome ?? "unknown"],
    ...Object.entries(report.seats ?? {}).map(([seat, filled]) => [
      `seat.${seat}`,
      filled === null ? "none" : `${filled.kind} ${filled.name} ${filled.version}`,
    ]),
  ];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="proctor accept" ${totals}>`,
    `  <testsuite name="acceptance" timestamp="${timestamp(report.started_at_unix)}" ${totals}>`,
    "    <properties>",
    ...properties.map(([name, value]) => `      <property name="${escapeXml(name!)}" value="${escapeXml(value!)}"/>`),
    "    </properties>",
    ...rules.map(testCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

/** Text for an XML or HTML attribute or element: bounded, without control characters, markup escaped. */
export function escapeXml(text: string): string {
  return visible(text, 2000)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

function testCase(rule: Rule): string {
  const open = `    <testcase classname="acceptance" name="${escapeXml(rule.rule)}"`;
  const message = escapeXml(`${rule.code ?? rule.outcome}: ${rule.code === undefined ? "" : sentenceOf(rule.code)}`);
  const detail = escapeXml(`${rule.fact} (${rule.where})`);
  const type = escapeXml(rule.party ?? "unknown");
  switch (rule.outcome) {
    case "pass":
      return `${open}/>`;
    case "fail":
      return `${open}><failure type="${type}" message="${message}">${detail}</failure></testcase>`;
    case "incomplete":
      return `${open}><error type="${type}" message="${message}">${detail}</error></testcase>`;
    case "not_applicable":
      return `${open}><skipped message="${detail}"/></testcase>`;
  }
}

function timestamp(unix: number): string {
  return new Date(unix * 1000).toISOString().slice(0, 19);
}
