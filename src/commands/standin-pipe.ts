// `proctor standin pipe`: between a runner and its agent, for the runners that handle their agent badly.
import { pickEnvironment } from "../base/environment.ts";
import { writeWhole } from "../base/output.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "pipe",
    description: "Start an agent's command and pass its frames on, wrongly in one way.",
    examples: ["proctor standin pipe --mode prompts-twice -- agent"],
    hidden: true,
  },
  args: {
    mode: { type: "string", required: true, valueHint: "MODE", description: "What it does wrong." },
  },
  rest: "required",
  async run({ args, rest }) {
    const { mappedNames } = await import("../harness/workspace.ts");
    const { pipeModes, runPipe } = await import("../standins/agent-pipe.ts");
    const mode = pipeModes.find((one) => one === args.mode);
    if (mode === undefined) throw new UsageError(`--mode takes ${pipeModes.join(", ")}.`);
    const status = await runPipe({
      mode,
      command: rest,
      env: pickEnvironment(processEnvironment(), [...mappedNames, "TMPDIR", "LANG"]),
      cwd: currentFolder(),
      input: Bun.stdin.stream(),
      write: (bytes) => void writeWhole(1, bytes),
    });
    process.exit(status);
  },
});
