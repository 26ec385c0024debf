// Kills acceptance runs (every seat embedded) with SIGKILL at random moments and looks, on its own, whether anything is
// left two seconds later: processes by pid and start time, listening ports, files outside the output folder.
//   npm run kill-runs -- [--kills N] [--binary PATH] [--json]      without a binary the present source is built first
// Ends with 1 when a kill left anything. This process is a subreaper, so nothing a run started can hide from it.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "../build.ts";
import { descendantsOf, isAlive, listeningPorts, type ProcessId, signalExactly } from "../src/base/census.ts";
import { holdsWithin } from "../src/base/clock.ts";
import { parseJson } from "../src/base/json.ts";
import { becomeSubreaper } from "../src/base/subreaper.ts";

/** Who is killed: the front (deadman), the worker, or both at once; then the next command has to do it. */
const victims = ["worker", "front", "both"] as const;
type Victim = (typeof victims)[number];

interface Kill {
  readonly kill: number;
  readonly victim: Victim;
  readonly atMs: number;
  readonly phase: string;
  /** Processes of the run at the moment of the kill. */
  readonly alive: number;
  /** Until the last of them was gone; null when one was left after the wait. */
  readonly goneMs: number | null;
  readonly processesLeft: number;
  readonly portsLeft: readonly number[];
  readonly filesLeft: readonly string[];
  /** Whether the next command said that it found the run. */
  readonly told: boolean;
}

const allowedMs = 2_000;
/** Beyond the allowed time we look on a while, to tell a slow end from none. */
const patienceMs = 120_000;

interface Started {
  readonly child: Bun.Subprocess;
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly report: () => Record<string, unknown>;
}

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { kills: { type: "string" }, binary: { type: "string" }, json: { type: "boolean" } },
  });
  if (!becomeSubreaper()) throw new Error("this system has no child-subreaper, so nothing could be counted");
  const root = mkdtempSync(join(realpathSync(tmpdir()), "proctor-kills-"));
  const count = Number(values.kills ?? 30);
  const kills: Kill[] = [];
  const command = values.binary ?? join(root, "bin/proctor");
  const self: Self = (args) => ({ command, args });
  try {
    if (values.binary === undefined) build(command);
    const wholeMs = await wholeRunMs(self, join(root, "whole"));
    for (let kill = 1; kill <= count; kill += 1) {
      const victim = victims[(kill - 1) % victims.length] ?? "worker";
      const folder = join(root, `kill-${kill}`);
      kills.push(await oneKill(self, { kill, victim, folder, atMs: Math.round(Math.random() * wholeMs) }));
      if (values.json !== true) console.error(lineOf(kills.at(-1) as Kill));
    }
    const bad = kills.filter((one) => !clean(one)).length;
    console.log(values.json === true ? JSON.stringify({ kills, bad, wholeMs }, null, 1) : tableOf(kills, wholeMs));
    process.exitCode = bad === 0 && kills.length > 0 ? 0 : 1;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

type Self = (args: string[]) => { readonly command: string; readonly args: readonly string[] };

async function wholeRunMs(self: Self, folder: string): Promise<number> {
  const started = performance.now();
  const run = start(self, folder);
  if ((await run.child.exited) !== 0) throw new Error("the run that nobody kills did not pass");
  return performance.now() - started;
}

function start(self: Self, folder: string): Started {
  for (const name of ["", "tmp", "home", "cwd"]) mkdirSync(join(folder, name), { mode: 0o700 });
  const env = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: join(folder, "home"),
    TMPDIR: join(folder, "tmp"),
    XDG_STATE_HOME: join(folder, "state"),
  };
  const { command, args } = self([
    "accept",
    "--json",
    "--fixture",
    "typescript",
    "--output-dir",
    join(folder, "cwd/out"),
  ]);
  const child = Bun.spawn([command, ...args], {
    cwd: join(folder, "cwd"),
    env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  const report = () => {
    try {
      return (parseJson(readFileSync(join(folder, "cwd/out/report.json"))) ?? {}) as Record<string, unknown>;
    } catch {
      return {}; // not there yet
    }
  };
  return { child, folder, env, report };
}

async function oneKill(
  self: Self,
  plan: { kill: number; victim: Victim; folder: string; atMs: number },
): Promise<Kill> {
  const run = start(self, plan.folder);
  const seen = new Map<string, ProcessId>();
  const ports = new Set<number>();
  const look = () => {
    for (const row of descendantsOf([process.pid]).filter((one) => one.state !== "Z")) {
      seen.set(`${row.pid}.${row.startTicks}`, row);
      for (const port of listeningPorts(row.pid)) ports.add(port);
    }
  };
  const begun = performance.now();
  while (performance.now() - begun < plan.atMs && run.child.exitCode === null) {
    look();
    await Bun.sleep(25);
  }
  // A front that has started no worker yet is waited for: without one there is nothing of this kind to kill.
  if (plan.victim !== "front") {
    const there = () => workerOf(run) !== undefined || run.child.exitCode !== null;
    await holdsWithin(there, { withinMs: patienceMs, everyMs: 5 });
  }
  look();
  const phase = String(run.report()["phase"] ?? "before the first report");
  const alive = [...seen.values()].filter(isAlive).length;
  const worker = killNow(run, plan.victim);
  // With both gone nobody acts before the next command, so the time runs from its start.
  if (plan.victim === "both") {
    await run.child.exited;
    await holdsWithin(() => worker === undefined || !isAlive(worker), { withinMs: patienceMs, everyMs: 5 });
  }
  const killed = performance.now();
  const telling = plan.victim === "both" ? nextCommand(self, run) : Promise.resolve(false);
  const gone = () => {
    if (plan.victim !== "both") look();
    return ![...seen.values()].some(isAlive);
  };
  const goneMs = (await holdsWithin(gone, { withinMs: patienceMs, everyMs: 10 }))
    ? Math.round(performance.now() - killed)
    : null;
  await run.child.exited;
  const told = await telling;
  look();
  const left = {
    processesLeft: [...seen.values()].filter(isAlive).length,
    portsLeft: [...ports].filter(isListening),
    filesLeft: filesBeside(plan.folder),
  };
  for (const id of seen.values()) if (isAlive(id)) signalExactly(id, "SIGKILL");
  rmSync(plan.folder, { recursive: true, force: true });
  return { kill: plan.kill, victim: plan.victim, atMs: plan.atMs, phase, alive, goneMs, told, ...left };
}

/** Both are stopped before either is killed, so that neither starts anything or acts on the other's end meanwhile. */
function killNow(run: Started, victim: Victim): ProcessId | undefined {
  const front = run.child.pid;
  if (victim !== "worker") send(front, "SIGSTOP");
  const worker = workerOf(run);
  const targets = [...(victim === "worker" ? [] : [front]), ...(victim === "front" || !worker ? [] : [worker.pid])];
  for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const pid of targets) send(pid, signal);
  return worker;
}

/** The front's only child. */
function workerOf(run: Started): ProcessId | undefined {
  return descendantsOf([run.child.pid]).find((row) => row.ppid === run.child.pid);
}

function send(pid: number, signal: "SIGSTOP" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended by itself; then there is nothing to kill.
  }
}

async function nextCommand(self: Self, run: Started): Promise<boolean> {
  const { command, args } = self(["doctor", "--json"]);
  const child = Bun.spawn([command, ...args], { env: run.env, stdio: ["ignore", "pipe", "ignore"] });
  const said = await new Response(child.stdout).text();
  await child.exited;
  return said.includes("1 found");
}

function isListening(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return false;
  } catch {
    return true;
  }
}

/** Everything a run left outside its output folder, the one live file (or its first half-written form) aside. */
function filesBeside(folder: string): string[] {
  const left: string[] = [];
  const walk = (relative: string): void => {
    for (const name of readdirSync(join(folder, relative))) {
      const path = join(relative, name);
      if (path === "cwd/out" || /^state\/proctor\/live\/[0-9a-f-]+\.json(\.tmp)?$/.test(path)) continue;
      if (statSync(join(folder, path), { throwIfNoEntry: false })?.isDirectory() === true) walk(path);
      else left.push(path);
    }
  };
  walk("");
  return left;
}

function clean(kill: Kill): boolean {
  const ended = kill.goneMs !== null && kill.goneMs <= allowedMs && kill.processesLeft === 0;
  return ended && kill.portsLeft.length === 0 && kill.filesLeft.length === 0;
}

function lineOf(kill: Kill): string {
  const { victim, atMs, phase, alive, goneMs, processesLeft, portsLeft, filesLeft } = kill;
  const cells = [kill.kill, victim, `${atMs} ms`, phase, alive, `${goneMs ?? "never"} ms`];
  return `| ${[...cells, processesLeft, portsLeft.length, filesLeft.length, clean(kill) ? "clean" : "LEFT"].join(" | ")} |`;
}

function tableOf(kills: readonly Kill[], wholeMs: number): string {
  const gone = kills.map((one) => one.goneMs ?? patienceMs).sort((a, b) => a - b);
  return [
    "| kill | killed | at | phase | processes | gone after | left | ports | files | |",
    "|---|---|---|---|---|---|---|---|---|---|",
    ...kills.map(lineOf),
    "",
    `${kills.filter(clean).length} of ${kills.length} clean; a whole run takes ${Math.round(wholeMs)} ms; gone after ${gone.at(0)} to ${gone.at(-1)} ms.`,
  ].join("\n");
}
