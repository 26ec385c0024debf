// Fault runs are weighed by the report's own section: legal, broken, or nothing to read, which counts as broken.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { type FaultRunOptions, faultLine, runFaults } from "../../src/calibrate/fault-runs.ts";
import type { Report } from "../../src/contract/report.ts";
import { honestReport } from "../evidence/honest-report.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function played(folder: string, report: Report | null): Promise<FaultRunOptions> {
  const program = join(folder, "play.ts");
  const text = JSON.stringify(JSON.stringify(report));
  await Bun.write(
    program,
    `import { mkdirSync, writeFileSync } from "node:fs";
const out = process.argv[process.argv.indexOf("--output-dir") + 1];
if (${text} !== "null") { mkdirSync(out); writeFileSync(out + "/report.json", ${text}); }`,
  );
  const self = (args: readonly string[]) => ({ command: process.execPath, args: [program, ...args] });
  return { self, environment: { PATH: "/usr/bin:/bin" }, folder, times: 1, only: "after_bind:SIGKILL:server" };
}

const withFault = (breaches: string[]): Report => ({
  ...honestReport(),
  fault: { point: "after_bind", signal: "SIGKILL", target: "server", fired: true, breaches },
});

test("a run without breaches is legal, one with them is broken and says which", async () => {
  await using folder = await tempFolder();
  const legal = await runFaults(await played(folder.path, withFault([])));
  expect(legal).toMatchObject({ runs: 1, broken: 0 });
  await using other = await tempFolder();
  const broken = await runFaults(await played(other.path, withFault(["second_prompt"])));
  expect(broken.broken).toBe(1);
  expect(faultLine(broken.results[0]!)).toBe("BROKEN after_bind:SIGKILL:server: passed (second_prompt)");
});

test("a run without a report, or without its fault section, is broken", async () => {
  for (const report of [null, honestReport()]) {
    await using folder = await tempFolder();
    expect((await runFaults(await played(folder.path, report))).broken).toBe(1);
  }
});

test("faults are repeated 1 to 20 times, and an unknown one is refused", async () => {
  await using folder = await tempFolder();
  const options = await played(folder.path, withFault([]));
  const codeOf = (changed: Partial<FaultRunOptions>) =>
    runFaults({ ...options, ...changed }).then(
      () => "ran",
      (error: { code?: string }) => error.code,
    );
  for (const times of [0, 21, 1.5, Number.NaN]) expect(await codeOf({ times })).toBe("calibrate_fault_times_invalid");
  expect(await codeOf({ only: "nowhere:SIGKILL:server" })).toBe("calibrate_subject_unknown");
  expect(await codeOf({ times: 20 })).toBe("ran");
});
