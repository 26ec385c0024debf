// `npm run bench [NAME…]`: every bar of the speed table, one line each; writes bench/results.{json,md} after a whole
// run and names a bar that was met in the stored run and is missed now. Exit 1 when a bar is missed.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import type { BenchRow } from "./measure.ts";

const benches: Readonly<Record<string, () => Promise<{ bench(): Promise<BenchRow[]> }>>> = {
  startup: () => import("./startup.ts"),
  accept: () => import("./accept.ts"),
  gateway: () => import("./gateway.ts"),
  server: () => import("./server.ts"),
  hook: () => import("./hook.ts"),
  relay: () => import("./relay.ts"),
};

const root = import.meta.dir;
const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(benches);
const built = Bun.spawnSync([process.execPath, "run", `${root}/../build.ts`], {
  stdio: ["ignore", "inherit", "inherit"],
});
if (built.exitCode !== 0) process.exit(1);

const rows: BenchRow[] = [];
for (const name of names) {
  const load = benches[name];
  if (load === undefined) throw new Error(`no bench ${name}; there are ${Object.keys(benches).join(", ")}`);
  process.stderr.write(`measuring ${name} …\n`);
  rows.push(...(await (await load()).bench()));
}

const lines = rows.map(
  (one) =>
    `| ${one.bar} | ${one.floor} | ${one.value} | ${one.ratio.toFixed(2)} | ${one.sense} ${one.limit} | ${one.spread} | ${one.ok ? "met" : "**missed**"} |`,
);
const table = [
  "| bar | floor | value | ratio | limit | spread | verdict |",
  "|---|---|---|---|---|---|---|",
  ...lines,
].join("\n");
process.stdout.write(`${table}\n`);

const stored = readStored();
for (const one of rows) {
  const before = stored.find((other) => other.bar === one.bar);
  if (before?.ok === true && !one.ok)
    process.stdout.write(`regression: ${one.bar} was met at ratio ${before.ratio.toFixed(2)}\n`);
}
if (asked.length === 0) {
  writeFileSync(`${root}/results.json`, `${JSON.stringify(rows, null, 2)}\n`);
  const machine = `${cpus().length} cores, ${process.platform} ${process.arch}, Bun ${Bun.version}, ${new Date().toISOString().slice(0, 10)}`;
  writeFileSync(
    `${root}/results.md`,
    `# Bench results\n\nWritten by \`npm run bench\` on ${machine}. Each ratio is to a floor measured in the same run.\n\n${table}\n`,
  );
}
process.exitCode = rows.every((one) => one.ok) ? 0 : 1;

function readStored(): BenchRow[] {
  try {
    return JSON.parse(readFileSync(`${root}/results.json`, "utf8")) as BenchRow[];
  } catch {
    return []; // the first run has nothing to compare with
  }
}
