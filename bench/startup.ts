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

const rounds = 42;

export async function bench(): Promise<BenchRow[]> {
  return await inFolder((folder) => {
    const empty = compileFloor(folder, "export {};\n", "empty");
    const times = interleave(
      { empty: () => timeProgram([empty]), version: () => timeProgram([proctor, "version"]) },
      rounds,
    );
    // Round by round: a moment in which the machine is busy slows both.
    const ratios = times.version!.map((one, at) => one / times.empty![at]!);
    return [
      row({
        bar: "`proctor version`",
        floor: `empty compiled program, ${median(times.empty!).toFixed(1)} ms`,
        value: `${median(times.version!).toFixed(1)} ms`,
        ratio: median(ratios),
        limit: 2,
        sense: "at most",
        spread: spreadOf(ratios),
      }),
    ];
  });
}
