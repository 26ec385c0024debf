// The head of the page: the verdict with the rule that decided it, and each separate result with what it rests on.
import type { Report } from "../contract/report.ts";
import { sentenceOf } from "../judge/codes.ts";
import { decidingRule } from "../judge/verdict.ts";
import { escapeXml } from "./junit.ts";
import { badge, type Markup } from "./page.ts";

/** The verdict in one line, when it was reached, and the digest that fixes it. */
export function summary(report: Report, digest: string): Markup {
  const decided = decidingRule(report.verdict?.rules ?? []);
  const outcome = report.verdict?.outcome ?? report.state;
  const why =
    decided === undefined
      ? "Every rule held."
      : `${decided.rule}: ${decided.code === undefined ? decided.fact : sentenceOf(decided.code)} (${decided.code ?? decided.outcome}, about the ${decided.party ?? "run"})`;
  const seconds = ((report.finished_at_unix ?? report.updated_at_unix) - report.started_at_unix).toFixed(1);
  return [
    "<header>",
    `<h1>Acceptance run ${badge(outcome)}</h1>`,
    `<p class="lead">${escapeXml(why)}</p>`,
    `<p class="dim">Started ${escapeXml(instant(report.started_at_unix))}, took ${seconds} s, model ${escapeXml(report.model)} at effort ${escapeXml(report.effort)}.</p>`,
    `<p class="dim">Digest of the report: <code>${escapeXml(digest)}</code></p>`,
    "</header>",
  ].join("\n");
}

/** The separate results of a run, each with what it rests on; good coding never stands for good recovery. */
export function results(report: Report): Markup {
  const outcomes = new Map((report.verdict?.rules ?? []).map((rule) => [rule.rule, rule]));
  const tests = (rule: string) => outcomes.get(rule)?.fact ?? "not run";
  const ended = (section: Report["managed"]) => (section.passed ? "passed" : "failed");
  const { consumer, managed, recovery } = report;
  const rows: Array<[string, string, string]> = [
    ["Consumer read through MCP", ended(consumer), consumer.failure ?? "receipts, bytes on disk and answer agree"],
    ["Managed coding run", ended(managed), managed.failure ?? "one prompt, forced model and effort, fixture judged"],
    ["Recovery through the outage", ended(recovery), recovery.failure ?? seenBefore(report)],
    ["Fixed tests", outcomes.get("managed_fixed_tests")?.outcome ?? "incomplete", tests("managed_fixed_tests")],
    [
      "All tests, the added ones too",
      outcomes.get("managed_all_tests")?.outcome ?? "incomplete",
      tests("managed_all_tests"),
    ],
    ["Nothing private shown", outcomes.get("privacy")?.outcome ?? "incomplete", tests("privacy")],
    ["Clean-up", outcomes.get("leftovers")?.outcome ?? "incomplete", cleanedUp(report)],
  ];
  const cards = rows.map(
    ([name, outcome, fact]) =>
      `<li><strong>${name}</strong> ${badge(outcome)}<p class="dim">${escapeXml(fact)}</p></li>`,
  );
  return `<ul class="cards">\n${cards.join("\n")}\n</ul>`;
}

/** What was seen before the outage; nothing is claimed about the time in between. */
function seenBefore(report: Report): string {
  const { recovery } = report;
  const seen = [
    `phase ${recovery["phase_before_disconnect"] ?? "unknown"}`,
    `run ${recovery["run_state_before_disconnect"] ?? "unknown"}`,
    `execution ${recovery["execution_state_before_disconnect"] ?? "unknown"}`,
  ];
  return `seen before it: ${seen.join(", ")}`;
}

function cleanedUp(report: Report): string {
  const { cleanup } = report;
  const names = ["server_stopped", "runner_stopped", "consumer_group_stopped"];
  const stopped = names.map((name) => `${name.replaceAll("_", " ")}: ${cleanup[name] === true ? "yes" : "no"}`);
  return `execution outcome ${cleanup["execution_outcome"] ?? "unknown"}; ${stopped.join(", ")}`;
}

function instant(unix: number): string {
  return `${new Date(unix * 1000).toISOString().slice(0, 19)} UTC`.replace("T", " ");
}
