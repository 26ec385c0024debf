// A run killed or interrupted in each of its stages. With front and worker dead at once nobody is left to clean up, so
// the next command has to: it finds the live file, ends what is recorded there, says so, and does its own work as ever.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { descendantsOf, isAlive, listProcesses, type ProcessId, signalExactly } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { proctorBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const waitMs = 240_000;
const soon = { withinMs: 120_000, everyMs: 10 };

/** What is on disk as soon as a stage has begun. */
const begun = {
  preflight: (out: string) => phaseIn(out) !== null && recordsOf(dirname(out)).length > 0,
  fixtures: (out: string) => existsSync(join(out, "project")),
  provision: (out: string) => existsSync(join(out, "private/webcodex-server-0.log")),
  consumer: (out: string) => passedThrough(out, "consumer_running"),
  managed: (out: string) => passedThrough(out, "coding_run_bound"),
  recovery: (out: string) => passedThrough(out, "before_server_restart"),
  closed: (out: string) => passedThrough(out, "closed"),
} as const;
type Stage = keyof typeof begun;

function reportIn(out: string): Record<string, unknown> | null {
  try {
    return JSON.parse(readFileSync(join(out, "report.json"), "utf8"));
  } catch {
    return null; // not there yet
  }
}

function phaseIn(out: string): unknown {
  return reportIn(out)?.["phase"] ?? null;
}

function passedThrough(out: string, phase: string): boolean {
  const timeline = (reportIn(out)?.["timeline"] ?? []) as { what: string }[];
  return timeline.some(({ what }) => what === phase);
}

function start(folder: string, words: readonly string[]) {
  mkdirSync(join(folder, "tmp"), { recursive: true });
  return Bun.spawn([proctorBinary, ...words], {
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", HOME: folder, XDG_STATE_HOME: join(folder, "host"), TMPDIR: join(folder, "tmp") },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function endOf(child: ReturnType<typeof start>) {
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { stdout, stderr, code: await child.exited };
}

function liveFiles(folder: string): string[] {
  const live = join(folder, "host/proctor/live");
  return existsSync(live) ? readdirSync(live).map((name) => join(live, name)) : [];
}

function recordsOf(folder: string): string[] {
  return liveFiles(folder).filter((path) => path.endsWith(".json"));
}

function recorded(folder: string): ProcessId[] {
  return recordsOf(folder)
    .flatMap((path) => JSON.parse(readFileSync(path, "utf8")).processes)
    .map((id: { pid: number; start_ticks: number }) => ({ pid: id.pid, startTicks: id.start_ticks }));
}

/** Every process that runs with a folder of this test in its environment, recorded or not; only looked at. */
function processesIn(folder: string): number[] {
  return listProcesses()
    .filter((row) => {
      try {
        return readFileSync(`/proc/${row.pid}/environ`, "latin1").includes(folder);
      } catch {
        return false; // ended meanwhile, or another user's
      }
    })
    .map((row) => row.pid);
}

function nothingRuns(folder: string): Promise<boolean> {
  return holdsWithin(() => processesIn(folder).length === 0, soon);
}

function workerOf(front: number): number {
  return descendantsOf([front]).find((row) => row.ppid === front)?.pid ?? 0;
}

/** Kills front and worker at the stage; gives what they had recorded. A run that was over too soon is tried again. */
async function killBothAt(stage: Stage, folder: string) {
  for (let attempt = 1; ; attempt += 1) {
    const out = join(folder, `out-${attempt}`);
    const child = start(folder, ["accept", "--json", "--output-dir", out]);
    expect(await holdsWithin(() => begun[stage](out) || child.exitCode !== null, soon)).toBe(true);
    // Stopped first: neither may act on the other's end.
    child.kill("SIGSTOP");
    const worker = descendantsOf([child.pid]).find((row) => row.ppid === child.pid);
    if (worker !== undefined) for (const signal of ["SIGSTOP", "SIGKILL"] as const) signalExactly(worker, signal);
    child.kill("SIGKILL");
    await child.exited;
    expect(await holdsWithin(() => worker === undefined || !isAlive(worker), soon)).toBe(true);
    if (stage !== "closed" && passedThrough(out, "managed_and_recovery_accepted") && attempt < 5) continue;
    return { out, ids: recorded(folder), found: recordsOf(folder).length > 0 };
  }
}

for (const stage of ["preflight", "fixtures", "provision", "consumer", "closed"] as const)
  test.if(process.platform === "linux")(
    `doctor ends and names what a run killed in stage ${stage} left`,
    async () => {
      await using dir = await tempFolder();
      const { ids, found } = await killBothAt(stage, dir.path);

      const said = await endOf(start(dir.path, ["doctor", "--json"]));

      const finding = JSON.parse(said.stdout).findings.find((one: { check: string }) => one.check === "killed runs");
      expect(finding.says).toMatch(found ? /^1 found, processes ended: \d+, still visible: 0$/ : /^none$/);
      if (stage !== "closed") expect(found).toBe(true);
      if (stage === "consumer") expect(ids.length).toBeGreaterThanOrEqual(3);
      expect(ids.filter(isAlive)).toEqual([]);
      expect(await nothingRuns(dir.path)).toBe(true);
      expect(liveFiles(dir.path)).toEqual([]);
    },
    waitMs,
  );

test.if(process.platform === "linux")(
  "accept ends what a run killed in recovery left, names its exact ids and what to do first, and passes itself (O034)",
  async () => {
    await using dir = await tempFolder();
    const { out, ids } = await killBothAt("recovery", dir.path);
    expect(ids.filter(isAlive).length).toBeGreaterThanOrEqual(2);
    const left = reportIn(out) as { state: string; managed: Record<string, string> };
    const next = join(dir.path, "next");

    const said = await endOf(start(dir.path, ["accept", "--fixture", "typescript", "--output-dir", next]));

    expect(said.code).toBe(0);
    expect(JSON.parse(said.stdout)).toMatchObject({ state: "passed", output_dir: next });
    expect(said.stderr).toMatch(/run [0-9a-f-]{36} lost its owner; processes ended: [1-9]\d*\.\n/);
    expect(said.stderr).toContain(`evidence so far: ${out}\n`);
    const { task_id, attempt_id, run_id } = left.managed;
    expect(said.stderr).toContain(`task_id ${task_id}, attempt_id ${attempt_id}, run_id ${run_id}.`);
    expect(said.stderr).toContain("Observe or reconcile exactly this execution before any replacement");
    expect(left.state).toBe("running");
    expect(ids.filter(isAlive)).toEqual([]);
    expect(await nothingRuns(dir.path)).toBe(true);
    expect(liveFiles(dir.path)).toEqual([]);
  },
  waitMs,
);

test.if(process.platform === "linux")(
  "calibrate ends what a run killed in the managed stage left, says so, and judges its subject as ever",
  async () => {
    await using dir = await tempFolder();
    const { ids } = await killBothAt("managed", dir.path);
    expect(ids.filter(isAlive).length).toBeGreaterThanOrEqual(2);

    const said = await endOf(start(dir.path, ["calibrate", "--only", "consumer-honest", "--json"]));

    expect(said.stderr).toMatch(/proctor calibrate: run [0-9a-f-]{36} lost its owner; processes ended: [1-9]\d*\.\n/);
    expect([JSON.parse(said.stdout).misses, said.code]).toEqual([0, 0]);
    expect(ids.filter(isAlive)).toEqual([]);
    expect(await nothingRuns(dir.path)).toBe(true);
    expect(liveFiles(dir.path)).toEqual([]);
    expect(readdirSync(join(dir.path, "tmp"))).toEqual([]);
  },
  waitMs,
);

test.if(process.platform === "linux")(
  "accept whose worker is killed in flight ends everything and says which execution is unfinished (O034)",
  async () => {
    await using dir = await tempFolder();
    const out = join(dir.path, "out");
    const child = start(dir.path, ["accept", "--output-dir", out]);
    expect(
      await holdsWithin(() => begun.managed(out) || phaseIn(out) === "observing_before_server_restart", soon),
    ).toBe(true);
    const ids = recorded(dir.path);

    process.kill(workerOf(child.pid), "SIGKILL");
    const said = await endOf(child);

    expect(said.code).toBe(1);
    expect(JSON.parse(said.stdout)).toEqual({ state: "failed", failure: "harness_worker_gone" });
    const { managed } = reportIn(out) as { managed: Record<string, string> };
    expect(said.stderr).toContain(
      `task_id ${managed["task_id"]}, attempt_id ${managed["attempt_id"]}, run_id ${managed["run_id"]}.`,
    );
    expect(said.stderr).toContain("before any replacement");
    expect(ids.filter(isAlive)).toEqual([]);
    expect(await nothingRuns(dir.path)).toBe(true);
  },
  waitMs,
);

test.if(process.platform === "linux")(
  "accept whose front is killed in flight ends everything by its worker, and its report says why",
  async () => {
    await using dir = await tempFolder();
    const out = join(dir.path, "out");
    const child = start(dir.path, ["accept", "--json", "--output-dir", out]);
    expect(
      await holdsWithin(() => begun.managed(out) || phaseIn(out) === "observing_before_server_restart", soon),
    ).toBe(true);
    const ids = recorded(dir.path);

    child.kill("SIGKILL");
    await child.exited;

    expect(await holdsWithin(() => phaseIn(out) === "closed" && !ids.some(isAlive), soon)).toBe(true);
    expect(reportIn(out)).toMatchObject({
      state: "failed",
      failure: "harness_front_gone",
      cleanup: { execution_outcome: "outcome_unknown", server_stopped: true, runner_stopped: true },
      census: { still_visible: [], listening_ports: [] },
    });
    expect(await holdsWithin(() => liveFiles(dir.path).length === 0, soon)).toBe(true);
  },
  waitMs,
);

for (const [stage, signal] of [
  ["preflight", "SIGINT"],
  ["provision", "SIGTERM"],
  ["consumer", "SIGINT"],
  ["managed", "SIGHUP"],
  ["recovery", "SIGINT"],
] as const)
  test.if(process.platform === "linux")(
    `accept interrupted by ${signal} in stage ${stage} cleans up, and its report says so (H209)`,
    async () => {
      await using dir = await tempFolder();

      const { out, said } = await interruptedAt(stage, signal, dir.path);

      expect(said.code).toBe(1);
      expect(JSON.parse(said.stdout)).toEqual(reportIn(out));
      expect(reportIn(out)).toMatchObject({
        state: "failed",
        failure: "harness_interrupted",
        phase: "closed",
        cleanup: { process_cleanup_finished: true },
        census: { still_visible: [], listening_ports: [] },
      });
      expect(await nothingRuns(dir.path)).toBe(true);
      expect(liveFiles(dir.path)).toEqual([]);
    },
    waitMs,
  );

/** Signals the front at the stage. A run that had passed before the signal came is tried again. */
async function interruptedAt(stage: Stage, signal: NodeJS.Signals, folder: string) {
  for (let attempt = 1; ; attempt += 1) {
    const out = join(folder, `out-${attempt}`);
    const child = start(folder, ["accept", "--json", "--fixture", "typescript", "--output-dir", out]);
    expect(await holdsWithin(() => begun[stage](out) || child.exitCode !== null, soon)).toBe(true);
    child.kill(signal);
    const said = await endOf(child);
    if (said.code === 0 && attempt < 5) continue;
    return { out, said };
  }
}
