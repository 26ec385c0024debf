// `proctor calibrate`: prove the judge. Every known-bad subject has to be refused with its own code, every honest passed.

import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { reapAdopted } from "../base/adopted.ts";
import { sha256FileHex } from "../base/bytes.ts";
import { descendantsOf } from "../base/census.ts";
import { counted } from "../base/counted.ts";
import { pickEnvironment } from "../base/environment.ts";
import { executablePath, processEnvironment, selfCommand, stateFolder } from "../base/self.ts";
import { becomeSubreaper } from "../base/subreaper.ts";
import type { OwnFolder } from "../harness/own-folder.ts";
import { endDeadRunsAndTell } from "./dead-runs.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult, tell } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

const passedOn = ["HOME", "PATH", "LANG", "LC_ALL", "USER", "XDG_STATE_HOME"];

export default defineStrictCommand({
  meta: {
    name: "calibrate",
    description: "Prove the judge: refuse every bad stand-in with its own code, pass every honest one.",
    examples: ["proctor calibrate", "proctor calibrate --only consumer-shell-after --json"],
    notes: ["Ends with 1 when any subject was answered otherwise than the catalogue says, or not judged at all."],
  },
  args: {
    only: { type: "string", valueHint: "ID", description: "Run this one subject of the catalogue." },
    "honest-times": {
      type: "string",
      valueHint: "1..50",
      description: "Repeat every honest subject.",
      defaultText: "1",
    },
    faults: {
      type: "string",
      valueHint: "1..20",
      description: "Run every fault point this often instead; --only takes POINT:SIGNAL:TARGET then.",
    },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    await endDeadRunsAndTell("calibrate");
    const { openOwnFolder } = await import("../harness/own-folder.ts");
    const folder = openOwnFolder(stateFolder(), { parent: tmpdir(), prefix: "proctor-calibrate" });
    becomeSubreaper();
    let interrupted = false;
    // What an interruption ended is no result; the process is on its way out then.
    const unlessInterrupted = () => (interrupted ? new Promise<never>(() => undefined) : undefined);
    for (const [signal, status] of interruptions)
      process.on(signal, () => {
        interrupted = true;
        void leave(folder, status);
      });
    const started = performance.now();
    const say = (line: string): void => {
      reapAdopted(); // a thousand runs leave more dead than a process table of a container holds
      if (!args.json) tell(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`);
    };
    const shared = {
      self: selfCommand,
      environment: await subjectEnvironment(),
      executableSha256: sha256FileHex(executablePath()),
      folder: folder.path,
      onStarted: folder.note,
      only: args.only,
    };
    let kept = false;
    try {
      if (args.faults !== undefined) {
        const { faultLine, runFaults } = await import("../calibrate/fault-runs.ts");
        const onResult = (run: Parameters<typeof faultLine>[0]) => say(faultLine(run));
        const faults = await runFaults({ ...shared, times: Number(args.faults), onResult });
        await unlessInterrupted();
        const broken = faults.results.filter((run) => !run.legal).map(faultLine);
        const text = () =>
          [`${counted(faults.runs, "run")} with a fault, ${faults.broken} broken`, ...broken].join("\n");
        printResult(faults, { json: args.json, text });
        kept = faults.broken > 0;
        return faults.broken === 0 ? exitNumbers.done : exitNumbers.failed;
      }
      const { calibrate } = await import("../calibrate/run.ts");
      const { calibrationText, resultLine } = await import("../calibrate/table.ts");
      const honestTimes = args["honest-times"] === undefined ? undefined : Number(args["honest-times"]);
      const calibration = await calibrate({ ...shared, honestTimes, onResult: (result) => say(resultLine(result)) });
      await unlessInterrupted();
      printResult(calibration, { json: args.json, text: () => calibrationText(calibration) });
      kept = calibration.misses > 0;
      return calibration.misses === 0 ? exitNumbers.done : exitNumbers.failed;
    } finally {
      if (kept) {
        folder.keep();
        tell(`proctor calibrate: what was kept of the misses lies in ${folder.path}`);
      } else folder.remove();
    }
  },
});

/** What an interrupted calibration ends with. */
const interruptions = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

/** Ends the subjects that are running, removes what they wrote, and goes. */
async function leave(folder: OwnFolder, status: number): Promise<never> {
  const { endProcesses } = await import("../harness/live-file.ts");
  await endProcesses(() => descendantsOf([process.pid]).filter((row) => row.state !== "Z"));
  folder.remove();
  process.exit(status);
}

/** The interpreter's own folder comes first: finding it anew would cost each subject more than its judgement. */
async function subjectEnvironment(): Promise<Record<string, string>> {
  const env = pickEnvironment(processEnvironment(), passedOn);
  const { findPython } = await import("../harness/fixture.ts");
  const python = await findPython(env.PATH ?? "", "/");
  return python === null ? env : { ...env, PATH: `${dirname(python)}:${env.PATH}` };
}
