// The verdict page of one report: what was proven and by which observer, the timeline with the outage, the diff,
// the census, the seats, and what is not proven. Every text of a subject is escaped and bounded.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { decodeUtf8 } from "../base/bytes.ts";
import { counted } from "../base/counted.ts";
import { readRegularFile } from "../base/private-files.ts";
import type { Report, Rule } from "../contract/report.ts";
import { sentenceOf } from "../judge/codes.ts";
import { escapeXml } from "./junit.ts";
import { evidenceLimits } from "./limits.ts";
import type { LoadedReport } from "./load.ts";
import { badge, folded, type Markup, page, section, table } from "./page.ts";
import { results, summary } from "./summary.ts";
import { timeline } from "./timeline-picture.ts";

/** The page of a loaded report. */
export function renderHtml(loaded: LoadedReport & { readonly report: Report }): string {
  const { report } = loaded;
  return page(`Acceptance ${report.state}`, [
    summary(report, loaded.digest),
    section("results", "Results", results(report)),
    section("timeline", "Timeline", timeline(report)),
    section("open", "What is not proven", list(report.verdict?.not_proven ?? [], "Nothing was left open.")),
    ...((report.notes ?? []).length === 0 ? [] : [section("notes", "Notes of the run", list(report.notes ?? [], ""))]),
    section("proven", "What was judged", rulesTable(report.verdict?.rules ?? [])),
    section("seats", "Who sat where", seatsTable(report)),
    section("diff", "What the agent changed", diff(loaded.folder, report)),
    section("census", "What was left running", census(report)),
    section("privacy", "Search for private text", privacy(report)),
    section("files", "Files this rests on", files(report)),
  ]);
}

const observers: ReadonlyArray<readonly [start: string, who: string]> = [
  ["facts.consumer.receipts", "the server's own rows"],
  ["facts.consumer.lifecycle", "the server's own rows"],
  ["facts.consumer.fixture", "git on disk"],
  ["facts.consumer", "the consumer's event stream"],
  ["facts.audit", "the relay's file"],
  ["facts.recovery", "the server's answers and the process table"],
  ["facts.managed.baseline", "our own test run"],
  ["facts.managed.fixed_tests", "our own test run"],
  ["facts.managed.all_tests", "our own test run"],
  ["facts.managed.final_state", "the server's answers"],
  ["facts.managed", "bytes on disk"],
  ["census", "the process table"],
  ["canaries", "a search of the written files"],
];

function observerOf(rule: Rule): string {
  return observers.find(([start]) => rule.where.startsWith(start))?.[1] ?? "the harness";
}

function rulesTable(rules: readonly Rule[]): Markup {
  const rows = rules.map((rule) => [
    { markup: `<code>${escapeXml(rule.rule)}</code>` },
    { markup: badge(rule.outcome) },
    rule.code === undefined ? rule.fact : `${rule.code}: ${sentenceOf(rule.code)} ${rule.fact}`,
    observerOf(rule),
    { markup: `<code>${escapeXml(rule.where)}</code>` },
  ]);
  return table(
    "Every rule, in the order of the run",
    ["Rule", "Outcome", "Deciding fact", "Observer", "Recorded at"],
    rows,
  );
}

function seatsTable(report: Report): Markup {
  const rows = Object.entries(report.seats ?? {}).map(([seat, filled]) =>
    filled === null
      ? [seat, "none", "", "", ""]
      : [seat, filled.kind, filled.name, filled.version, { markup: `<code>${escapeXml(filled.sha256)}</code>` }],
  );
  if (rows.length === 0) return "<p>No seat was recorded.</p>";
  return table("The four seats of the run", ["Seat", "Kind", "Name", "Version", "SHA-256 of the program"], rows);
}

function diff(folder: string, report: Report): Markup {
  const path = join(folder, "implementation.diff");
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile()) return "<p>No change was recorded.</p>";
  if (stat.size > evidenceLimits.diffShownBytes) return "<p>The change is too long to be shown here.</p>";
  const text = decodeUtf8(readRegularFile(path, { maxBytes: evidenceLimits.diffShownBytes }));
  if (text === null) return "<p>The change is not text.</p>";
  const lines = text.trimEnd().split("\n").map(diffLine);
  const sha256 = report.facts?.managed?.diff_sha256 ?? "";
  return `<p class="dim">SHA-256 <code>${escapeXml(sha256)}</code></p>\n<pre tabindex="0" aria-label="Change of the implementation">${lines.join("\n")}</pre>`;
}

function diffLine(line: string): Markup {
  const text = escapeXml(line);
  if (line.startsWith("+") && !line.startsWith("+++")) return `<ins>${text}</ins>`;
  return line.startsWith("-") && !line.startsWith("---") ? `<del>${text}</del>` : text;
}

function census(report: Report): Markup {
  const { census: found } = report;
  if (found === undefined) return "<p>No census was taken.</p>";
  const reach = found.scope === "whole_tree" ? "every descendant" : "the owned groups only";
  const lead = `<p>Started: ${counted(found.started.length, "process", "processes")}. Still visible: ${found.still_visible.length}. Ports still listening: ${found.listening_ports.length}. Looked at: ${reach}.</p>`;
  const visible = new Set(found.still_visible.map((row) => `${row.pid}:${row.start_ticks}`));
  const rows = found.started.map((row) => [
    String(row.pid),
    row.role,
    row.name,
    { markup: badge(visible.has(`${row.pid}:${row.start_ticks}`) ? "still visible" : "gone") },
  ]);
  const litter = found.litter.map((entry) => `${entry.path}: ${entry.removed ? "removed" : "left"}`);
  return [
    lead,
    rows.length === 0
      ? ""
      : folded("Each process", table("Processes of the run", ["Process", "Role", "Name", "Afterwards"], rows)),
    litter.length === 0 ? "" : list(litter, ""),
  ].join("\n");
}

function privacy(report: Report): Markup {
  const { canaries } = report;
  if (canaries === undefined) return "<p>No search was made.</p>";
  const lead = `<p>Marks planted: ${canaries.planted.length}. Files searched: ${canaries.scanned.length}. Marks found: ${canaries.found.length}.</p>`;
  return `${lead}\n<p>Not searched for prompt and file marks:</p>\n${list(canaries.not_scanned, "Everything was searched.")}`;
}

function files(report: Report): Markup {
  const rows = (report.manifest?.files ?? []).map((file) => [
    { markup: `<code>${escapeXml(file.path)}</code>` },
    String(file.bytes),
    { markup: `<code>${escapeXml(file.sha256)}</code>` },
  ]);
  if (rows.length === 0) return "<p>No file was listed.</p>";
  return folded(counted(rows.length, "file"), table("Listed files", ["Path", "Bytes", "SHA-256"], rows));
}

function list(entries: readonly string[], nothing: string): Markup {
  if (entries.length === 0) return `<p>${escapeXml(nothing)}</p>`;
  return `<ul>\n${entries.map((entry) => `<li>${escapeXml(entry)}</li>`).join("\n")}\n</ul>`;
}
