// Bars: a whole acceptance run, every seat embedded, in at most ten seconds; with the real consumer and adapter on the
// stand-in model in at most sixty, measured where `npm run accept:real` has installed them before.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type BenchRow, inFolder, median, proctor, row, spreadOf, timeProgram } from "./measure.ts";

const root = `${import.meta.dir}/..`;

export async function bench(): Promise<BenchRow[]> {
  return await inFolder((folder) => {
    const env = { PATH: "/usr/bin:/bin", HOME: folder };
    const run = (name: string, words: readonly string[]) =>
      timeProgram([proctor, "accept", "--json", "--output-dir", join(folder, name), ...words], { env }) / 1_000;
    const rows = [
      secondsRow(
        "`accept`, all embedded",
        10,
        [0, 1, 2].map((n) => run(`run-${n}`, [])),
      ),
    ];
    const seats = realSeats();
    if (seats !== null) rows.push(secondsRow("`accept`, real Codex and adapter", 60, [run("real", seats)]));
    return rows;
  });
}

function secondsRow(bar: string, limit: number, times: readonly number[]): BenchRow {
  return row({
    bar,
    floor: `${limit} s`,
    value: `${median(times).toFixed(1)} s`,
    ratio: median(times) / limit,
    limit: 1,
    sense: "at most",
    spread: `${spreadOf(times, 1)} s`,
  });
}

/** The seats `scripts/accept-real.ts` would give, or null where the programs are not installed. */
function realSeats(): string[] | null {
  const modules = `${root}/.cache/real-clients/node_modules`;
  const node = Bun.which("node");
  const [codex, adapter] = [
    `${modules}/@openai/codex/bin/codex.js`,
    `${modules}/@agentclientprotocol/codex-acp/dist/index.js`,
  ];
  if (node === null || !existsSync(codex) || !existsSync(adapter)) return null;
  return ["--codex-path", codex, "--node-path", node, "--adapter-script", adapter, "--model-endpoint", "standin"];
}
