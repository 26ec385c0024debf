// `proctor server token list`: every token without anything that could be used as one.
import { systemClock } from "../base/clock.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { dataFolderOf } from "./server-run.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: { name: "list", description: "List tokens and their state.", examples: ["proctor server token list --json"] },
  args: { json: { type: "boolean", description: "Print the list as JSON." } },
  async run({ args }) {
    const { operatorListTokens } = await import("../server/operator.ts");
    const tokens = await operatorListTokens(dataFolderOf(processEnvironment(), currentFolder()), systemClock.wallMs());
    const line = (one: (typeof tokens)[number]) =>
      `${one.token_id}  ${one.kind}  ${one.username}  ${one.state}  ${one.scopes.join(" ")}`;
    printResult({ tokens }, { json: args.json, text: () => tokens.map(line).join("\n") });
    return exitNumbers.done;
  },
});
