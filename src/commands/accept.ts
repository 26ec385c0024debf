// `proctor accept`: the acceptance run. This process is its deadman; the run itself is a worker of this executable.

import { currentFolder, processEnvironment, selfCommand, stateFolder } from "../base/self.ts";
import { becomeSubreaper } from "../base/subreaper.ts";
import { acceptArguments, acceptWords } from "./accept-options.ts";
import { tell } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

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
    return await runUnderDeadman({ ...worker, env: { ...processEnvironment() }, cwd: currentFolder() });
  },
});
