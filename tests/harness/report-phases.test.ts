// The phases of a report: the seed's twenty, each of them written somewhere, and no other way to write one.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ReportPhase, reportPhases } from "../../src/contract/report.ts";
import { ReportBook } from "../../src/harness/report-book.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const seedPhases =
  "preflight services_ready consumer_running consumer_tool_receipt_verified consumer_accepted consumer_failed attempt_claimed coding_run_bound observing_before_server_restart before_server_restart server_recovered_original_run observing_original_run managed_and_recovery_accepted managed_accepted_recovery_incomplete managed_failed tool_failure accepted acceptance_incomplete failed closed".split(
    " ",
  );

test("only the seed's phases can be written, and the harness writes each of them (H040)", () => {
  expect<string[]>([...reportPhases]).toEqual(seedPhases);

  const folder = `${projectRoot}src/harness`;
  const source = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
  const spelled = (phase: string) => source.includes(`"${phase}"`) || source.includes(`_${phase.split("_")[1]}\``);
  expect(seedPhases.filter((phase) => !spelled(phase))).toEqual([]);
  // Every call is checked by its type; one that gets around the type would show as a cast here.
  expect(source.match(/checkpoint\([^)]* as [^)]*\)/g)).toBeNull();
});

test("checkpoint() without a phase writes the report again in the one it is in", async () => {
  await using dir = await tempFolder();
  const seen: ReportPhase[] = [];
  const book = new ReportBook({
    folder: dir.path,
    hostJobId: null,
    sourceHead: "x",
    scriptSha256: "y",
    onPhase: (phase) => seen.push(phase),
  });
  book.checkpoint("services_ready");
  book.report["project"] = "p";
  book.checkpoint();

  const report = JSON.parse(readFileSync(join(dir.path, "report.json"), "utf8"));
  expect(report).toMatchObject({ phase: "services_ready", project: "p" });
  expect(report.timeline.map((entry: { what: string }) => entry.what)).toEqual(["preflight", "services_ready"]);
  expect(seen).toEqual(["preflight", "services_ready", "services_ready"]);
});
