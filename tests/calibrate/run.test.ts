// Weighing and running: a hit needs outcome, code and party; what was not judged is a miss. Subjects are played by a
// small program that writes the report a run would have written.
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { BadSubject, CatalogueSubject } from "../../src/calibrate/catalogue.ts";
import { type CalibrationOptions, calibrate, weigh } from "../../src/calibrate/run.ts";
import { calibrationText, resultLine } from "../../src/calibrate/table.ts";
import type { Report } from "../../src/contract/report.ts";
import { honestReport, withVerdict } from "../evidence/honest-report.ts";
import { tempFolder } from "../support/temp-folder.ts";

const subject: BadSubject = {
  kind: "bad",
  id: "consumer-exit-7",
  seat: "consumer",
  misbehaviour: "exit-7",
  code: "consumer_process_failed",
  party: "consumer",
  only: "consumer",
  limits: {},
};

function exitSeven(): Report {
  const report = honestReport();
  report.facts!.consumer!.exit_code = 7;
  report.consumer = { ...report.consumer, passed: false, failure: "consumer_process_failed" };
  return withVerdict(report);
}

test("a hit needs outcome, code and party", () => {
  expect(weigh(subject, exitSeven()).hit).toBe(true);
  expect(weigh({ ...subject, code: "consumer_deadline" }, exitSeven()).hit).toBe(false);
  expect(weigh({ ...subject, party: "server" }, exitSeven()).hit).toBe(false);
  expect(weigh(subject, honestReport()).hit).toBe(false);
  const honest: CatalogueSubject = { kind: "honest", id: "x", seat: "consumer", misbehaviour: "x" };
  expect(weigh(honest, honestReport()).hit).toBe(true);
  expect(weigh(honest, exitSeven()).hit).toBe(false);
});

test("a run without a closed report is not judged, and that is a miss", () => {
  for (const report of [null, { ...exitSeven(), phase: "consumer_failed" }])
    expect(weigh(subject, report)).toMatchObject({ seen: { outcome: "unjudged" }, hit: false });
});

/** Plays `accept --subject FILE --output-dir D --json`: writes the given report, or nothing. */
async function played(folder: string, report: Report | null): Promise<CalibrationOptions> {
  const program = join(folder, "play.ts");
  const text = JSON.stringify(JSON.stringify(report));
  await Bun.write(
    program,
    `import { mkdirSync, writeFileSync } from "node:fs";
const out = process.argv[process.argv.indexOf("--output-dir") + 1];
if (${text} !== "null") { mkdirSync(out); writeFileSync(out + "/report.json", ${text}); }`,
  );
  const self = (args: readonly string[]) => ({ command: process.execPath, args: [program, ...args] });
  return { self, environment: { PATH: "/usr/bin:/bin" }, folder };
}

test("one subject runs as a process and is weighed by its report", async () => {
  await using folder = await tempFolder();
  const lines: string[] = [];
  const options = await played(folder.path, exitSeven());
  const result = await calibrate({
    ...options,
    only: "consumer-exit-7",
    onResult: (one) => lines.push(resultLine(one)),
  });
  expect(result).toMatchObject({ bad: 1, honest: 0, runs: 1, misses: 0 });
  expect(lines).toEqual(["hit   consumer-exit-7: refused consumer_process_failed (consumer)"]);
});

test("an honest subject is repeated, and each refusal is a miss that is told", async () => {
  await using folder = await tempFolder();
  const result = await calibrate({
    ...(await played(folder.path, exitSeven())),
    only: "consumer-honest",
    honestTimes: 3,
  });
  expect(result).toMatchObject({ bad: 0, honest: 1, runs: 3, misses: 3 });
  expect(calibrationText(result)).toContain(
    "MISS  consumer-honest: expected passed, saw refused consumer_process_failed",
  );
});

test("a subject that writes nothing is a miss", async () => {
  await using folder = await tempFolder();
  const result = await calibrate({ ...(await played(folder.path, null)), only: "consumer-exit-7" });
  expect(result.results[0]).toMatchObject({ seen: { outcome: "unjudged" }, hit: false });
});

test("an unknown subject and a number of times out of range are refused; 50 is the most", async () => {
  await using folder = await tempFolder();
  const options = await played(folder.path, null);
  const codeOf = (changed: Partial<CalibrationOptions>) =>
    calibrate({ ...options, ...changed }).then(
      () => "ran",
      (error: { code?: string }) => error.code,
    );
  expect(await codeOf({ only: "no-such-subject" })).toBe("calibrate_subject_unknown");
  for (const honestTimes of [0, 51, 1.5, Number.NaN])
    expect(await codeOf({ honestTimes })).toBe("calibrate_times_invalid");
  expect(await codeOf({ only: "consumer-exit-7", honestTimes: 50 })).toBe("ran");
});
