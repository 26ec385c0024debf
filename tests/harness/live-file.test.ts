import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type ProcessId, readProcess } from "../../src/base/census.ts";
import { endDeadRuns, LiveFile, ownId } from "../../src/harness/live-file.ts";
import { tempFolder } from "../support/temp-folder.ts";

function sleeper() {
  const child = Bun.spawn(["/bin/sleep", "600"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const row = readProcess(child.pid);
  if (row === null) throw new Error("the sleeper did not start");
  return { child, id: { pid: row.pid, startTicks: row.startTicks } satisfies ProcessId };
}

/** A start time no process of this machine has. */
const deadOwner = { pid: process.pid, startTicks: 1 };

test("endDeadRuns() ends what a dead owner recorded and removes its file", async () => {
  await using dir = await tempFolder();
  const state = join(dir.path, "state");
  const { child, id } = sleeper();
  new LiveFile(state, { runId: "run-1", outputDir: "/out", owners: [deadOwner] }).note([id]);

  const dead = await endDeadRuns(state);
  await child.exited;

  expect(dead).toMatchObject([{ runId: "run-1", outputDir: "/out", stillVisible: 0 }]);
  expect(isAlive(id)).toBe(false);
  expect(readdirSync(join(state, "live"))).toEqual([]);
});

test("endDeadRuns() leaves a living owner's run, and a number that another process has now", async () => {
  await using dir = await tempFolder();
  const state = join(dir.path, "state");
  const { child, id } = sleeper();
  const living = new LiveFile(state, { runId: "run-living", outputDir: "/out", owners: [deadOwner, ownId()] });
  living.note([id]);
  new LiveFile(state, { runId: "run-reused", outputDir: "/out", owners: [deadOwner] });
  const path = join(state, "live", "run-reused.json");
  const record = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...record, processes: [{ pid: id.pid, start_ticks: id.startTicks + 1 }] }));

  const dead = await endDeadRuns(state);

  expect(dead.map((run) => [run.runId, run.ended])).toEqual([["run-reused", 0]]);
  expect(isAlive(id)).toBe(true);
  expect(readdirSync(join(state, "live"))).toEqual(["run-living.json"]);
  living.remove();
  child.kill("SIGKILL");
  await child.exited;
});

test("endDeadRuns() signals nothing that a broken file or another boot names", async () => {
  await using dir = await tempFolder();
  const state = join(dir.path, "state");
  const { child, id } = sleeper();
  new LiveFile(state, { runId: "run-boot", outputDir: "/out", owners: [deadOwner] }).note([id]);
  const path = join(state, "live", "run-boot.json");
  const record = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...record, boot_id: "another" }));
  writeFileSync(join(state, "live", "broken.json"), "{", { mode: 0o600 });

  const dead = await endDeadRuns(state);

  expect(dead.map((run) => [run.runId, run.ended])).toEqual([["run-boot", 0]]);
  expect(isAlive(id)).toBe(true);
  expect(existsSync(join(state, "live", "broken.json"))).toBe(true);
  child.kill("SIGKILL");
  await child.exited;
});

test("endDeadRuns() finds nothing where no run ever was", async () => {
  await using dir = await tempFolder();
  mkdirSync(join(dir.path, "empty"));
  expect(await endDeadRuns(join(dir.path, "empty"))).toEqual([]);
});
