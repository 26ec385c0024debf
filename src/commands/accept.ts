// `proctor accept`: the acceptance run. This process is its deadman; the run itself is a worker of this executable.

import { pickEnvironment } from "../base/environment.ts";
import { currentFolder, processEnvironment, selfCommand, stateFolder } from "../base/self.ts";
import { becomeSubreaper } from "../base/subreaper.ts";
import { acceptArguments, acceptWords } from "./accept-options.ts";
import { tell } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

/** What the worker itself reads beside the names a run may map: where state lies, and how its terminal is. */
const workerNames = ["XDG_STATE_HOME", "TMPDIR", "LANG", "LC_ALL", "TERM", "COLUMNS", "NO_COLOR"];

export default defineStrictCommand({
  meta: {
    name: "accept",
    description: "Prove end to end that a coding-agent control plane works, and keep evidence of it.",
    examples: ["proctor accept", "proctor accept --output-dir /srv/run-1 --fixture typescript --json"],
    notes: [
      "Without seat options every seat is embedded or a stand-in. Model gpt-5.6-luna and effort medium are fixed.",
      "Ends with 0 only when consumer, managed run and recovery passed and every rule held.",
    ],
  },
  args: acceptArguments,
  async run({ args }) {
    becomeSubreaper();
    const { endDeadRuns } = await import("../harness/live-file.ts");
    for (const dead of await endDeadRuns(stateFolder()))
      tell(`proctor accept: ended ${dead.ended} processes of run ${dead.runId}, whose owner is gone.`);
    const { runUnderDeadman } = await import("../harness/deadman.ts");
    const worker = selfCommand(["accept-worker", ...acceptWords(args)]);
    const { mappedNames } = await import("../harness/workspace.ts");
    const env = pickEnvironment(processEnvironment(), [...mappedNames, ...workerNames]);
    return await runUnderDeadman({ ...worker, env, cwd: currentFolder() });
  },
});
