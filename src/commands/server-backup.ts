// `proctor server backup FILE`: a consistent copy, also while the server runs.
import { resolve } from "node:path";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { dataFolderOf } from "./server-run.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "backup",
    description: "Copy the database named by WEBCODEX_DATA into a new file.",
    examples: ["WEBCODEX_DATA=./data proctor server backup ./server-backup.sqlite"],
  },
  args: {
    file: { type: "positional", required: true, description: "The new file; an existing one is never replaced." },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    const { backupData } = await import("../server/operator.ts");
    const folder = currentFolder();
    const done = backupData(dataFolderOf(processEnvironment(), folder), resolve(folder, args.file));
    printResult({ backup: "written", ...done }, { json: args.json, text: () => `backup written, ${done.bytes} bytes` });
    return exitNumbers.done;
  },
});
