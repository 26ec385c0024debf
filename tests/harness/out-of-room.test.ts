// A disk that fills in the middle of a run: one code, nothing left running, no live file, and a report that says failed.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type ProcessId } from "../../src/base/census.ts";
import { Failure } from "../../src/base/failure.ts";
import { writePrivateJson } from "../../src/base/private-files.ts";
import { runAcceptance } from "../../src/harness/harness.ts";
import { harnessLimits } from "../../src/harness/limits.ts";
import { failureIn, failureOf, isFull, markFailed } from "../../src/harness/out-of-room.ts";
import { ReportBook } from "../../src/harness/report-book.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { acceptOptions } from "./stage-run.ts";

const noRoom = () =>
  new Failure("private_file_unwritable", { cause: Object.assign(new Error("no space left"), { code: "ENOSPC" }) });

/** A door to the disk that has no room from the first report in this phase on. */
function fullFrom(phase: string) {
  let full = false;
  return (path: string, value: unknown) => {
    full = full || (value as { phase: string }).phase === phase;
    if (full) throw noRoom();
    writePrivateJson(path, value);
  };
}

function reportIn(folder: string) {
  return JSON.parse(readFileSync(join(folder, "out/report.json"), "utf8"));
}

for (const [phase, only, cleanedUp] of [
  ["services_ready", "managed", false],
  ["closed", "consumer", true],
] as const)
  test(`runAcceptance() whose disk is full from ${phase} on ends everything, with one code, and marks the report failed`, async () => {
    await using dir = await tempFolder();
    const ids = new Map<number, ProcessId>();
    const live = join(dir.path, "state/proctor/live");
    const write = fullFrom(phase);
    const noting = (path: string, value: unknown) => {
      for (const name of existsSync(live) ? readdirSync(live) : [])
        for (const { pid, start_ticks } of JSON.parse(readFileSync(join(live, name), "utf8")).processes)
          ids.set(pid, { pid, startTicks: start_ticks });
      write(path, value);
    };

    const ended = await runAcceptance(acceptOptions(dir.path, { fixture: "typescript", only }), { write: noting }).then(
      () => "none",
      failureOf,
    );

    expect(ended).toBe("harness_evidence_unwritable");
    expect(reportIn(dir.path)).toMatchObject({ state: "failed", failure: "harness_evidence_unwritable" });
    expect(reportIn(dir.path).cleanup.process_cleanup_finished).toBe(cleanedUp);
    expect(readdirSync(live)).toEqual([]);
    expect(ids.size).toBeGreaterThanOrEqual(2);
    expect([...ids.values()].filter(isAlive)).toEqual([]);
  }, 120_000);

test("runAcceptance() whose live file finds no room starts nothing, and its report says failed", async () => {
  await using dir = await tempFolder();
  writeFileSync(join(dir.path, "state"), "a file where the folder belongs");

  const ended = await runAcceptance(acceptOptions(dir.path, { fixture: "typescript" })).then(() => "none", failureOf);

  expect(ended).toBe("private_file_unwritable");
  expect(reportIn(dir.path)).toMatchObject({ state: "failed", phase: "failed", failure: ended });
});

test("ReportBook.checkpoint() has one code for whatever keeps it from the disk, tryCheckpoint() is false then", async () => {
  await using dir = await tempFolder();
  const book = new ReportBook({
    folder: dir.path,
    hostJobId: null,
    sourceHead: "x",
    scriptSha256: "y",
    write: fullFrom("services_ready"),
  });

  expect(() => book.checkpoint("services_ready")).toThrow("harness_evidence_unwritable");
  expect(book.tryCheckpoint("failed")).toBe(false);
  expect(book.markFailed("harness_evidence_unwritable")).toBe(true);

  const report = JSON.parse(readFileSync(join(dir.path, "report.json"), "utf8"));
  expect(report).toMatchObject({ phase: "preflight", state: "failed", failure: "harness_evidence_unwritable" });
});

test("markFailed() asks for no new room: words longer than the file are not begun", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "report.json");
  const words = `${JSON.stringify({ a: 1, state: "failed", failure: "code" })}\n`;
  writeFileSync(path, " ".repeat(words.length - 1));

  expect(markFailed(path, { a: 1 }, "code")).toBe(false);
  expect(readFileSync(path, "utf8").trim()).toBe("");
  writeFileSync(path, " ".repeat(words.length));
  expect(markFailed(path, { a: 1 }, "code")).toBe(true);
  expect(readFileSync(path, "utf8")).toBe(words);
  expect(markFailed(join(dir.path, "none"), { a: 1 }, "code")).toBe(false);
});

test("failureOf() finds a full disk behind any code, isFull() knows the least room, failureIn() looks at the folder", () => {
  const code = "harness_evidence_unwritable";
  expect(failureOf(new Failure("harness_process_start_failed", { cause: noRoom() }))).toBe(code);
  expect(failureOf(Object.assign(new Error("over quota"), { code: "EDQUOT" }))).toBe(code);
  expect(failureOf(new Failure("private_file_unwritable"))).toBe("private_file_unwritable");
  expect(isFull(harnessLimits.minFreeBytes - 1)).toBe(true);
  expect(isFull(harnessLimits.minFreeBytes)).toBe(false);
  expect(failureIn("/nowhere/at-all", new Failure("git_required"))).toBe("git_required");
});
