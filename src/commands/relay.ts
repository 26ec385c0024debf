// The ACP relay: `proctor relay --audit F -- CMD ARGS…`, or the audit file and the program as plain words.
import { codeOf } from "../base/failure.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { tell } from "./result.ts";
import { sentenceOf } from "./sentences.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "relay",
    description: "Pass ACP frames through and note what kind they were",
    examples: [
      "proctor relay --audit audit.jsonl -- codex-acp",
      "proctor relay audit.jsonl codex-acp --flag",
      "proctor relay --audit audit.jsonl --env HOME --env PATH --env CODEX_HOME -- codex-acp",
    ],
    notes: [
      "Without --env the adapter gets the relay's environment, without BUN_*, GIT_* and NODE_OPTIONS.",
      "Ends with the adapter's own status, 128 + n for a signal; 125 is the relay's own fault, with its code on stderr.",
    ],
  },
  args: {
    audit: { type: "string", description: "Private file for the notes", valueHint: "F" },
    env: {
      type: "string",
      repeatable: true,
      description: "Let the adapter have this variable, and none that is not named so",
      valueHint: "NAME",
    },
    file: { type: "positional", description: "The same file, where --audit is not given" },
  },
  rest: "optional",
  async run({ args, rest }) {
    const words = args.file === undefined ? rest : [args.file, ...rest];
    const [auditPath, ...command] = args.audit === undefined ? words : [args.audit, ...words];
    const [program] = command;
    if (auditPath === undefined || auditPath === "" || program === undefined || program === "") {
      throw new UsageError("Give --audit F, then -- and the adapter's command.");
    }
    const { relay } = await import("../relay/relay.ts");
    const { runtimeSwitch } = await import("../relay/adapter.ts");
    const wrong = args.env.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || runtimeSwitch.test(name));
    if (wrong !== undefined) throw new UsageError("--env takes the name of a variable, and none of a runtime switch.");
    const surroundings = { environment: processEnvironment(), passOnly: args.env, cwd: currentFolder() };
    try {
      const end = await relay({ auditPath, command, ...surroundings });
      if (end.fault !== null) await tellFault(end.fault);
      // The client's pipe may be open still; waiting for it would keep an ended adapter's relay alive.
      process.exit(end.status);
    } catch (error) {
      await tellFault(codeOf(error));
      process.exit(exitNumbers.ownFault);
    }
  },
});

async function tellFault(code: string): Promise<void> {
  tell(`proctor relay: ${await sentenceOf(code)} [${code}]`);
}
