// What `accept` and `calibrate` do before anything else: end what killed runs left behind, and say so.
import { existsSync } from "node:fs";
import { stateFolder } from "../base/self.ts";
import { tell, tellLines } from "./result.ts";

/** One sentence for each run whose owner is gone, with the exact ids of an execution that was under way. */
export async function endDeadRunsAndTell(command: string): Promise<void> {
  const { endDeadRuns } = await import("../harness/live-file.ts");
  for (const dead of await endDeadRuns(stateFolder())) {
    const { unfinishedAdvice } = await import("../harness/unfinished.ts");
    const left = dead.stillVisible === 0 ? "" : `; still visible: ${dead.stillVisible}`;
    tell(`proctor ${command}: run ${dead.runId} lost its owner; processes ended: ${dead.ended}${left}.`);
    if (dead.folderRemoved !== null) {
      tellLines([
        `  ${dead.folderRemoved ? "its folder was removed" : "its folder could not be removed"}: ${dead.outputDir}`,
      ]);
      continue;
    }
    // A run of a calibration lay in the calibration's folder, and went with it.
    if (!existsSync(dead.outputDir)) continue;
    tellLines([`  evidence so far: ${dead.outputDir}`, ...unfinishedAdvice(dead.outputDir).map((line) => `  ${line}`)]);
  }
}
