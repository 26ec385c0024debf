// `proctor calibrate`: prove the judge. Every known-bad subject has to be refused with its own code, every honest passed.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sha256FileHex } from "../base/bytes.ts";
import { pickEnvironment } from "../base/environment.ts";
import { executablePath, processEnvironment, selfCommand } from "../base/self.ts";
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
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    await endDeadRunsAndTell("calibrate");
    const { calibrate } = await import("../calibrate/run.ts");
    const { calibrationText, resultLine } = await import("../calibrate/table.ts");
    const folder = mkdtempSync(join(tmpdir(), "proctor-calibrate-"));
    try {
      const calibration = await calibrate({
        self: selfCommand,
        environment: await subjectEnvironment(),
        executableSha256: sha256FileHex(executablePath()),
        folder,
        only: args.only,
        honestTimes: args["honest-times"] === undefined ? undefined : Number(args["honest-times"]),
        onResult: (result) => {
          if (!args.json) tell(resultLine(result));
        },
      });
      printResult(calibration, { json: args.json, text: () => calibrationText(calibration) });
      return calibration.misses === 0 ? exitNumbers.done : exitNumbers.failed;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

/** The interpreter's own folder comes first: finding it anew would cost each subject more than its judgement. */
async function subjectEnvironment(): Promise<Record<string, string>> {
  const env = pickEnvironment(processEnvironment(), passedOn);
  const { findPython } = await import("../harness/fixture.ts");
  const python = await findPython(env.PATH ?? "", "/");
  return python === null ? env : { ...env, PATH: `${dirname(python)}:${env.PATH}` };
}
