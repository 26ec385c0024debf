// The verdict page in a real Chromium, at phone and desk width, light and dark: nothing scrolls sideways, nothing is
// loaded or run, and axe-core finds no violation. Skipped where no Chromium is installed.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { renderHtml } from "../../src/evidence/html.ts";
import { loadWholeReport } from "../../src/evidence/load.ts";
import { merge, renderMerged } from "../../src/evidence/merge.ts";
import { census } from "../judge/managed-subject.ts";
import { browserPath, openBrowser } from "../support/browser.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { honestReport, withVerdict, writeRun } from "./honest-report.ts";

// Each page at each width and in each colour scheme; which width meets which scheme changes from page to page.
const views = [
  [{ width: 390 }, { width: 1280, dark: true }],
  [{ width: 390, dark: true }, { width: 1280 }],
] as const;

test.skipIf(browserPath === null)(
  "the pages are clean at 390 px and 1280 px, light and dark, and accessible",
  async () => {
    await using folder = await tempFolder();
    const honest = honestReport();
    const failed = withVerdict({ ...honest, census: { ...census(), still_visible: census().started.slice(0, 1) } });
    const runs = [honest, failed].map((report, index) => {
      const run = join(folder.path, `run-${index}`);
      mkdirSync(run);
      writeRun(run, report);
      return run;
    });
    const pages = runs.map((run) => join(run, "report.html"));
    for (const run of runs) writeFileSync(join(run, "report.html"), renderHtml(loadWholeReport(run)));
    pages.push(join(folder.path, "merged.html"));
    writeFileSync(join(folder.path, "merged.html"), renderMerged(merge(runs)));
    await using browser = await openBrowser();
    for (const [at, page] of pages.entries()) {
      const looks = await browser.look(`file://${page}`, views[at % 2]!);
      for (const [index, seen] of looks.entries()) {
        const view = views[at % 2]![index]!;
        const { sideways, violations, errors } = seen;
        expect({ ...view, page: basename(page), sideways, violations, errors }).toEqual({
          ...view,
          page: basename(page),
          sideways: 0,
          violations: [],
          errors: [],
        });
        if (basename(page) === "report.html") expect(seen.text).toContain("What is not proven");
      }
    }
  },
  // With a browser that shares two cores with the rest of the suite.
  240_000,
);
