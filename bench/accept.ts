// Bar: a whole acceptance run, every seat embedded, in at most ten seconds.
import { join } from "node:path";
import { type BenchRow, inFolder, median, proctor, row, spreadOf, timeProgram } from "./measure.ts";

export async function bench(): Promise<BenchRow[]> {
  return await inFolder((folder) => {
    const env = { PATH: "/usr/bin:/bin", HOME: folder };
    const times = [0, 1, 2].map(
      (n) => timeProgram([proctor, "accept", "--json", "--output-dir", join(folder, `run-${n}`)], { env }) / 1000,
    );
    return [
      row({
        bar: "`accept`, all embedded",
        floor: "10 s",
        value: `${median(times).toFixed(1)} s`,
        ratio: median(times) / 10,
        limit: 1,
        sense: "at most",
        spread: `${spreadOf(times, 1)} s`,
      }),
    ];
  });
}
