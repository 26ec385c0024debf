// `proctor accept`: the acceptance run. This process is its deadman; the run itself is a worker of this executable.

import { pickEnvironment } from "../base/environment.ts";
import { currentFolder, processEnvironment, selfCommand, stateFolder } from "../base/self.ts";
import { becomeSubreaper } from "../base/subreaper.ts";
import { acceptArguments, acceptWords, checkWords } from "./accept-options.ts";
import { leaveLivingLine, stderrScreen } from "./accept-progress.ts";
import { endDeadRunsAndTell } from "./dead-runs.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult, tell, tellLines } from "./result.ts";
import { sentenceOf } from "./sentences.ts";
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
    checkWords(args);
    becomeSubreaper();
    await endDeadRunsAndTell("accept");
    const { runUnderDeadman } = await import("../harness/deadman.ts");
    const worker = selfCommand(["accept-worker", ...acceptWords(args)]);
    const { mappedNames } = await import("../harness/workspace.ts");
    const env = pickEnvironment(processEnvironment(), [...mappedNames, ...workerNames]);
    const end = await runUnderDeadman({ ...worker, env, cwd: currentFolder() });
    if (end.code === exitNumbers.done || end.code === exitNumbers.failed) return end.code;
    if (!args.json) leaveLivingLine(stderrScreen(processEnvironment()));
    await tellUnfinished(end.ended);
    printResult({ state: "failed", failure: "harness_worker_gone" }, { json: true });
    return exitNumbers.failed;
  },
});

async function tellUnfinished(ended: number): Promise<void> {
  const { outputOfOwner, ownId } = await import("../harness/live-file.ts");
  const { unfinishedAdvice } = await import("../harness/unfinished.ts");
  tell(`proctor accept: ${await sentenceOf("harness_worker_gone")} Processes ended: ${ended}. [harness_worker_gone]`);
  const folder = outputOfOwner(stateFolder(), ownId());
  if (folder !== null) tellLines([`Evidence so far: ${folder}`, ...unfinishedAdvice(folder)]);
}
