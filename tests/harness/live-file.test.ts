import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type ProcessId, readProcess, signalExactly } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { harnessLimits } from "../../src/harness/limits.ts";
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

test("endDeadRuns() signals neither a number that is another process now nor what descends from it (product §8)", async () => {
  await using dir = await tempFolder();
  const state = join(dir.path, "state");
  const parent = Bun.spawn(["/bin/sh", "-c", "sleep 600 & echo $!; wait"], { stdin: "ignore", stdout: "pipe" });
  const { value } = await parent.stdout.getReader().read();
  const child = readProcess(Number(new TextDecoder().decode(value)));
  const row = readProcess(parent.pid);
  if (row === null || child === null) throw new Error("the processes did not start");
  const live = new LiveFile(state, { runId: "run-reused", outputDir: "/out", owners: [deadOwner] });
  live.note([{ pid: row.pid, startTicks: row.startTicks - 1 }]);
  const path = join(state, "live", "run-reused.json");
  const record = JSON.parse(readFileSync(path, "utf8"));
  // What descends from the number now was written down beside it; only the start time can tell.
  const processes = [row, child].map(({ pid, startTicks }) => ({ pid, start_ticks: startTicks - 1 }));
  writeFileSync(path, JSON.stringify({ ...record, processes }));

  expect(await endDeadRuns(state)).toMatchObject([{ ended: 0, stillVisible: 0 }]);
  expect([isAlive(row), isAlive(child)]).toEqual([true, true]);
  expect(readProcess(row.pid)?.state).not.toBe("T"); // nor was it stopped
  expect(existsSync(path)).toBe(false);
  expect(signalExactly(child, "SIGKILL")).toBe("signalled");
  await parent.exited;
});

test("endDeadRuns() ends several dead runs side by side, with what descends from them in other sessions", async () => {
  await using dir = await tempFolder();
  const state = join(dir.path, "state");
  const roots = ["one", "two"].map((name) => {
    const script = `setsid sh -c 'echo $$ >${name}.part; mv ${name}.part ${name}; exec sleep 600' & wait`;
    const env = { PATH: "/usr/bin:/bin" };
    const child = Bun.spawn(["/bin/sh", "-c", script], { cwd: dir.path, env, stdin: "ignore", stdout: "ignore" });
    const { startTicks } = readProcess(child.pid) ?? { startTicks: 0 };
    new LiveFile(state, { runId: `run-${name}`, outputDir: "/out", owners: [deadOwner] }).note([
      { pid: child.pid, startTicks },
    ]);
    return { name, child };
  });
  const up = () => roots.every(({ name }) => existsSync(join(dir.path, name)));
  expect(await holdsWithin(up, { withinMs: 30_000 })).toBe(true);
  const escaped = roots.map(({ name }) => readProcess(Number(readFileSync(join(dir.path, name), "utf8"))));

  const dead = await endDeadRuns(state);

  expect(dead.map(({ runId, stillVisible }) => [runId, stillVisible]).sort()).toEqual([
    ["run-one", 0],
    ["run-two", 0],
  ]);
  expect(escaped.map((row) => row !== null && isAlive(row))).toEqual([false, false]);
  await Promise.all(roots.map(({ child }) => child.exited));
});

test("a run that is killed in its very first write leaves a part of a file that is removed once it is old", async () => {
  await using dir = await tempFolder();
  const state = join(dir.path, "state");
  new LiveFile(state, { runId: "run-1", outputDir: "/out", owners: [ownId()] });
  const at = (name: string) => join(state, "live", name);
  for (const name of ["old.json.tmp", "fresh.json.tmp", "run-1.json.tmp"]) writeFileSync(at(name), "{");
  const longAgo = new Date(Date.now() - harnessLimits.liveLeftoverMs - 1_000);
  for (const name of ["old.json.tmp", "run-1.json.tmp"]) utimesSync(at(name), longAgo, longAgo);

  expect(await endDeadRuns(state)).toEqual([]);
  expect(readdirSync(join(state, "live")).sort()).toEqual(["fresh.json.tmp", "run-1.json", "run-1.json.tmp"]);
});

test("a live file names at most 5000 processes, and what is beyond is still counted by its ancestors", async () => {
  await using dir = await tempFolder();
  const state = join(dir.path, "state");
  const live = new LiveFile(state, { runId: "run-1", outputDir: "/out", owners: [deadOwner] });
  // Numbers no process of this machine has.
  live.note(Array.from({ length: 5_001 }, (_, index) => ({ pid: 5_000_000 + index, startTicks: 1 })));

  const { processes } = JSON.parse(readFileSync(join(state, "live", "run-1.json"), "utf8"));
  expect(processes).toHaveLength(5_000);
  expect(await endDeadRuns(state)).toMatchObject([{ ended: 0, stillVisible: 0 }]);
});
