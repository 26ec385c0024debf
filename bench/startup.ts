// Bar: `proctor version` against an empty compiled Bun program.
import {
  type BenchRow,
  compileFloor,
  inFolder,
  interleave,
  median,
  proctor,
  row,
  spreadOf,
  timeProgram,
} from "./measure.ts";

export async function bench(): Promise<BenchRow[]> {
  return await inFolder((folder) => {
    const empty = compileFloor(folder, "export {};\n", "empty");
    const times = interleave(
      { empty: () => timeProgram([empty]), version: () => timeProgram([proctor, "version"]) },
      42,
    );
    const ratio = median(times.version!) / median(times.empty!);
    return [
      row({
        bar: "`proctor version`",
        floor: `empty compiled program, ${median(times.empty!).toFixed(1)} ms`,
        value: `${median(times.version!).toFixed(1)} ms`,
        ratio,
        limit: 2,
        sense: "at most",
        spread: `${spreadOf(times.version!, 1)} ms`,
      }),
    ];
  });
}
