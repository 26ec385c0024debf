// The page, JUnit and the merged page: well formed, self-contained, escaped, and saying what they have to say.
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "../../src/contract/report.ts";
import { renderHtml } from "../../src/evidence/html.ts";
import { renderJunit } from "../../src/evidence/junit.ts";
import { loadWholeReport } from "../../src/evidence/load.ts";
import { merge, renderMerged } from "../../src/evidence/merge.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { honestReport, withVerdict, writeRun } from "./honest-report.ts";

const voidTags = ["meta", "property", "testcase", "skipped"];

/** Every opened element is closed in order; gives the names seen. */
function elementsOf(markup: string): string[] {
  const open: string[] = [];
  const seen: string[] = [];
  for (const match of markup.matchAll(/<(\/?)([a-zA-Z][a-zA-Z0-9]*)([^>]*)>/g)) {
    const [, closing, name, rest] = match;
    if (closing === "/") expect(open.pop()).toBe(name!);
    else {
      seen.push(name!);
      if (!rest!.endsWith("/") && !(voidTags.includes(name!) && name === "meta")) open.push(name!);
    }
  }
  expect(open).toEqual([]);
  return seen;
}

async function pageOf(report: Report = honestReport()): Promise<string> {
  await using folder = await tempFolder();
  writeRun(folder.path, report);
  return renderHtml(loadWholeReport(folder.path));
}

test("the page is one well-formed document that loads nothing and runs nothing", async () => {
  const html = await pageOf();
  const elements = elementsOf(html.replace("<!doctype html>", ""));
  for (const name of ["script", "link", "img", "iframe", "object", "form"]) expect(elements).not.toContain(name);
  expect(html).not.toMatch(/\b(src|href|action|on[a-z]+)\s*=|url\(|@import|https?:/);
  expect(html).toContain("default-src 'none'");
  expect(html).toContain('<html lang="en">');
  expect(html).toContain("width=device-width");
  expect(html).toContain("prefers-color-scheme:dark");
  expect(html).toContain("@media print");
});

test("headings are in order, one h1, and every region and table has a name", async () => {
  const html = await pageOf();
  const levels = [...html.matchAll(/<h([1-6])/g)].map((match) => Number(match[1]));
  expect(levels.filter((level) => level === 1)).toHaveLength(1);
  expect(levels[0]).toBe(1);
  levels.slice(1).forEach((level, index) => {
    expect(level - levels[index]!).toBeLessThanOrEqual(1);
  });
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
  expect(new Set(ids).size).toBe(ids.length);
  for (const match of html.matchAll(/aria-labelledby="([^"]+)"/g)) expect(ids).toContain(match[1]);
  expect(html.split("<table>").length).toBe(html.split("<caption>").length);
});

test("text and paper differ enough in both colour schemes (contrast at least 4.5)", async () => {
  const html = await pageOf();
  const schemes = [...html.matchAll(/:root\{(--ink:[^}]+)\}/g)].map((match) => match[1]!);
  expect(schemes.length).toBeGreaterThanOrEqual(2);
  for (const scheme of schemes.slice(0, 2)) {
    const colour = Object.fromEntries(scheme.split(";").map((pair) => pair.split(":") as [string, string]));
    for (const name of ["--ink", "--dim", "--good", "--bad", "--open", "--add", "--cut"])
      for (const ground of ["--paper", "--soft"])
        expect([name, contrast(colour[name]!, colour[ground]!) >= 4.5]).toEqual([name, true]);
  }
});

test("the page shows verdict, observers, outage, diff, census, seats, digest and what is not proven", async () => {
  const html = await pageOf();
  for (const text of [
    "every rule held",
    "the relay&#39;s file",
    "Outage:",
    "&lt;bounds&gt;",
    "proctor-standin-exec",
    "still visible:",
    "lease expiry",
    "Digest of the report",
  ])
    expect(html.toLowerCase()).toContain(text.toLowerCase());
});

test("one thing is told in the singular, and a note of the run is shown", async () => {
  const report = withVerdict({ ...honestReport(), notes: ["version_probe_failed: /srv/bin/<server>"] });
  const html = await pageOf(report);
  expect(html).toContain("1 prompt, 1 adapter process");
  expect(html).toContain("1 identity, required version");
  const facts = [...html.matchAll(/data-label="Deciding fact">([^<]*)</g)].map(([, fact]) => fact ?? "");
  expect(facts.length).toBeGreaterThan(20);
  expect(facts.filter((fact) => /(?<![0-9])1 (?!process\b|adapter process\b)[a-z]+ ?[a-z]*s\b/.test(fact))).toEqual([]);
  expect(html).toContain("version_probe_failed: /srv/bin/&lt;server&gt;");
});

test("markup and control characters of a subject stay text", async () => {
  const report = honestReport();
  report.timeline = [{ at_unix: 1_767_000_001, what: "<script>alert(1)</script>\u202e\u0007" }];
  const html = await pageOf(report);
  expect(html).not.toContain("<script>");
  expect(html).not.toMatch(/[\u202e\u0007]/);
});

test("a failed run says the code, its sentence and whose doing it is", async () => {
  const report = honestReport();
  report.facts!.managed!.fixed_tests = { exit_code: 1, tests_run: 7, output_sha256: "0".repeat(64) };
  report.managed = { ...report.managed, passed: false, failure: "independent_fixed_acceptance_failed" };
  const html = await pageOf(withVerdict(report));
  expect(html).toContain("independent_fixed_acceptance_failed, about the adapter");
});

test("JUnit: one case a rule, counts that add up, digest and seats as properties", () => {
  const report = honestReport();
  report.facts!.consumer!.fixture_unchanged = false;
  report.facts!.consumer!.receipts = null;
  report.facts!.recovery!.phase_before_disconnect = null;
  const xml = renderJunit(withVerdict(report), "d".repeat(64));
  expect(xml.startsWith('<?xml version="1.0" encoding="UTF-8"?>\n')).toBe(true);
  const elements = elementsOf(xml.slice(xml.indexOf("?>") + 2));
  const count = (name: string) => elements.filter((element) => element === name).length;
  expect(xml).toContain(
    `tests="${count("testcase")}" failures="${count("failure")}" errors="${count("error")}" skipped="${count("skipped")}"`,
  );
  expect([count("failure") > 0, count("error") > 0, count("skipped")]).toEqual([true, true, 1]);
  expect(xml).toContain(`<property name="report_digest" value="${"d".repeat(64)}"/>`);
  expect(xml).toContain('name="seat.consumer"');
});

test("merge joins many reports, an unreadable one among them, into one page", async () => {
  await using folder = await tempFolder();
  const good = join(folder.path, "good");
  const bad = join(folder.path, "bad");
  for (const path of [good, bad]) mkdirSync(path);
  writeRun(good);
  const report = honestReport();
  report.census!.still_visible = [{ pid: 5, start_ticks: 1, name: "x", role: "consumer" }];
  writeRun(bad, withVerdict(report));
  const merged = merge([good, bad, join(folder.path, "absent")]);
  expect(merged).toMatchObject({ reports: 3, passed: 1, failed: 1, unreadable: 1, all_passed: false });
  expect(merged.rows.map((row) => row.code)).toEqual([null, "leftover_processes", "report_missing"]);
  expect(merge([good]).all_passed).toBe(true);
  const html = renderMerged(merged);
  elementsOf(html.replace("<!doctype html>", ""));
  expect(html).toContain("1 of 3 passed");
  expect(() => merge([])).toThrow("merge_nothing_given");
  expect(() => merge(Array.from({ length: 1001 }, () => good))).toThrow("merge_too_many");
});

function contrast(one: string, two: string): number {
  const [light, dark] = [luminance(one), luminance(two)].sort((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
