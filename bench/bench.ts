// `npm run bench [NAME…]`: every bar of the speed table, one line each, in at most six minutes on a quiet machine.
// Each bench is a process of its own with a share of the time, so that one that hangs costs its own rows only. After a
// whole run bench/results.{json,md} are written; what is worse than in the stored run is named. Exit 1 when a bar is
// missed or not measured.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { startGroup } from "../src/base/process-group.ts";
import type { BenchRow } from "./measure.ts";
import { notes, regressions, tableOf, type Unmeasured } from "./results.ts";

/** In this order; the seconds are the most a bench may take. */
const benches = { startup: 60, hook: 120, relay: 120, gateway: 120, server: 120, accept: 120 } as const;
type BenchName = keyof typeof benches;

const wholeRunSeconds = 360;
const root = import.meta.dir;

async function main(words: readonly string[]): Promise<number> {
  const [first, name, file] = words;
  if (first === "--into") return await measureInto(name as BenchName, file!);
  const unknown = words.find((word) => !Object.hasOwn(benches, word));
  if (unknown !== undefined) throw new Error(`no bench ${unknown}; there are ${Object.keys(benches).join(", ")}`);
  return await runAll(words.length > 0 ? (words as BenchName[]) : (Object.keys(benches) as BenchName[]));
}

/** The inner process: one bench, its rows into a file. */
async function measureInto(name: BenchName, file: string): Promise<number> {
  const { bench } = (await import(`./${name}.ts`)) as { bench(): Promise<BenchRow[]> };
  writeFileSync(file, JSON.stringify(await bench()));
  return 0;
}

async function runAll(names: readonly BenchName[]): Promise<number> {
  const build = Bun.spawnSync([process.execPath, "run", `${root}/../build.ts`], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (build.exitCode !== 0) return 1;
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const started = performance.now();
  const rows: BenchRow[] = [];
  const unmeasured: Unmeasured[] = [];
  for (const name of names) {
    const left = wholeRunSeconds - (performance.now() - started) / 1_000;
    process.stderr.write(`measuring ${name} …\n`);
    const measured = await measure(name, Math.max(1, Math.min(benches[name], left)));
    if (typeof measured === "string") unmeasured.push({ bench: name, why: measured });
    else rows.push(...measured);
  }
  const worse = regressions(rows, readStored());
  const text = [tableOf(rows), "", ...notes(rows, { unmeasured, worse })].join("\n");
  process.stdout.write(`${text}\n`);
  if (names.length === Object.keys(benches).length) {
    const seconds = ((performance.now() - started) / 1_000).toFixed(0);
    const machine = `${cpus().length} cores, ${process.platform} ${process.arch}, Bun ${Bun.version}`;
    const date = new Date().toISOString().slice(0, 10);
    const head = `Written by \`npm run bench\` on ${date}: ${machine}, load ${load} at the start, ${seconds} s in all. Each ratio is to a floor measured in the same run.`;
    writeFileSync(`${root}/results.json`, `${JSON.stringify(rows, null, 2)}\n`);
    writeFileSync(`${root}/results.md`, `# Bench results\n\n${head}\n\n${text}\n`);
  }
  return rows.every((one) => one.ok) && unmeasured.length === 0 ? 0 : 1;
}

/** The rows, or why there are none. Everything the bench started ends with it. */
async function measure(name: BenchName, withinSeconds: number): Promise<BenchRow[] | string> {
  const folder = mkdtempSync(join(tmpdir(), "proctor-bench-"));
  const file = join(folder, "rows.json");
  const group = startGroup({
    command: process.execPath,
    args: [`${root}/bench.ts`, "--into", name, file],
    cwd: root,
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? folder, TMPDIR: folder },
    stdout: 2,
    stderr: 2,
  });
  const timer = setTimeout(() => void group.stop({ termMs: 0 }), withinSeconds * 1_000);
  const { code } = await group.exited;
  clearTimeout(timer);
  await group.stop({ termMs: 0 });
  try {
    if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as BenchRow[];
    return code === 1 ? "it failed, see above" : `it took longer than ${withinSeconds.toFixed(0)} s`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readStored(): BenchRow[] {
  try {
    return JSON.parse(readFileSync(`${root}/results.json`, "utf8")) as BenchRow[];
  } catch {
    return []; // the first run has nothing to compare with
  }
}

process.exitCode = await main(process.argv.slice(2));
