// docs/report.md names every rule, code, finding and field there is.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Report, ReportFacts } from "../../src/contract/report.ts";
import { findingCodes } from "../../src/evidence/codes.ts";
import { judgeCodes } from "../../src/judge/codes.ts";
import { judgeReport } from "../../src/judge/verdict.ts";

const docs = readFileSync(new URL("../../docs/report.md", import.meta.url), "utf8");
const missing = (names: readonly string[]) => names.filter((name) => !docs.includes(`\`${name}\``));

test("every rule is in the docs", () => {
  expect(missing(judgeReport({ consumer: {}, managed: {} }).rules.map((rule) => rule.rule))).toEqual([]);
});

test("every code and every finding is in the docs with its sentence", () => {
  const table = { ...judgeCodes, ...findingCodes };
  const absent = Object.entries(table).filter(([code, sentence]) => !docs.includes(`| \`${code}\` | ${sentence} |`));
  expect(absent).toEqual([]);
});

test("every field of the report and of its facts is in the docs", () => {
  expect(missing(Object.keys(Report.shape))).toEqual([]);
  expect(missing(Object.keys(ReportFacts.shape).map((name) => `facts.${name}`))).toEqual([]);
});
