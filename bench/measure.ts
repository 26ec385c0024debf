// What every bench shares: a row for one bar, medians, and whole programs timed side by side.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One bar of the speed table. `ratio` is compared with `limit` by `sense`; `spread` is the range over the rounds. */
export interface BenchRow {
  readonly bar: string;
  readonly floor: string;
  readonly value: string;
  readonly ratio: number;
  readonly limit: number;
  readonly sense: "at most" | "at least";
  readonly spread: string;
  readonly ok: boolean;
}

/** Builds a row and its verdict. */
export function row(facts: Omit<BenchRow, "ok">): BenchRow {
  return { ...facts, ok: facts.sense === "at most" ? facts.ratio <= facts.limit : facts.ratio >= facts.limit };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
}

export function spreadOf(values: readonly number[], digits = 2): string {
  return `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
}

/** Runs a program once to its end and gives its wall time in ms. Throws when it fails. */
export function timeProgram(command: string[], options: { env?: Record<string, string>; stdin?: string } = {}): number {
  const started = performance.now();
  const result = Bun.spawnSync(command, {
    stdin: options.stdin === undefined ? "ignore" : new TextEncoder().encode(options.stdin),
    stdout: "ignore",
    stderr: "pipe",
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  const elapsed = performance.now() - started;
  if (result.exitCode !== 0)
    throw new Error(
      `${command.join(" ").slice(0, 200)}: exit ${result.exitCode} ${result.stderr.toString().slice(0, 300)}`,
    );
  return elapsed;
}

/** Interleaves the programs for `rounds` rounds and gives the times of each. */
export function interleave(programs: Readonly<Record<string, () => number>>, rounds: number): Record<string, number[]> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(programs)) {
      const elapsed = run();
      if (round > 1) times[name]!.push(elapsed); // the first two warm the page cache
    }
  }
  return times;
}

/** Compiles a program of ours as a floor, with the product's own build line, into `folder`. */
export function compileFloor(folder: string, source: string, name: string): string {
  const path = join(folder, `${name}.ts`);
  writeFileSync(path, source);
  const outfile = join(folder, name);
  const built = Bun.spawnSync(
    [
      process.execPath,
      "build",
      "--compile",
      "--minify",
      "--bytecode",
      "--format=esm",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      path,
      `--outfile=${outfile}`,
    ],
    { cwd: folder, stderr: "pipe", stdout: "ignore" },
  );
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  return outfile;
}

/** A temp folder for one bench, removed at its end. */
export async function inFolder<T>(work: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "proctor-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const proctor = `${import.meta.dir}/../dist/proctor`;
