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
    examples: ["proctor relay --audit audit.jsonl -- codex-acp", "proctor relay audit.jsonl codex-acp --flag"],
    notes: [
      "Ends with the adapter's own status, 128 + n for a signal; 125 is the relay's own fault, with its code on stderr.",
    ],
  },
  args: {
    audit: { type: "string", description: "Private file for the notes", valueHint: "F" },
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
    try {
      const end = await relay({ auditPath, command, environment: processEnvironment(), cwd: currentFolder() });
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
