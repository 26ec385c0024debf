// The evidence room's numbers, each at the limit and one beyond.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderHtml } from "../../src/evidence/html.ts";
import { evidenceLimits } from "../../src/evidence/limits.ts";
import { loadReport, loadWholeReport } from "../../src/evidence/load.ts";
import { coveredFiles } from "../../src/evidence/manifest.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { honestReport, writeRun } from "./honest-report.ts";

test("a report may have 32 MiB, not a byte more", async () => {
  await using folder = await tempFolder();
  const text = JSON.stringify(honestReport());
  const file = join(folder.path, "report.json");
  const write = (bytes: number) => writeFileSync(file, text + " ".repeat(bytes - Buffer.byteLength(text)));
  write(evidenceLimits.reportBytes);
  expect(loadReport(file).report).not.toBeNull();
  write(evidenceLimits.reportBytes + 1);
  expect(() => loadReport(file)).toThrow("report_unreadable");
});

test("a change of up to 256 KiB is shown on the page", async () => {
  await using folder = await tempFolder();
  writeRun(folder.path);
  const shown = (bytes: number) => {
    writeFileSync(join(folder.path, "implementation.diff"), "+".repeat(bytes));
    return !renderHtml(loadWholeReport(folder.path)).includes("too long to be shown");
  };
  expect([shown(evidenceLimits.diffShownBytes), shown(evidenceLimits.diffShownBytes + 1)]).toEqual([true, false]);
});

test("files are looked for 32 folders deep; deeper ones are refused, not passed over", async () => {
  await using folder = await tempFolder();
  const deep = (levels: number) => ["project", ...Array.from({ length: levels - 1 }, () => "d")].join("/");
  mkdirSync(join(folder.path, deep(evidenceLimits.walkedDepth)), { recursive: true });
  writeFileSync(join(folder.path, deep(evidenceLimits.walkedDepth), "at"), "");
  expect(coveredFiles(folder.path)).toEqual([`${deep(evidenceLimits.walkedDepth)}/at`]);
  mkdirSync(join(folder.path, deep(evidenceLimits.walkedDepth + 1)));
  expect(() => coveredFiles(folder.path)).toThrow("evidence_too_many_files");
});
