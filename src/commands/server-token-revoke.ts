// `proctor server token revoke ID`: counts from the running server's next request on; a Runner's socket is closed within a second.
import { systemClock } from "../base/clock.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { dataFolderOf } from "./server-run.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: { name: "revoke", description: "End a token.", examples: ["proctor server token revoke wc_token_…"] },
  args: {
    id: { type: "positional", required: true, description: "The token's id, as listed." },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    const { operatorRevokeToken } = await import("../server/operator.ts");
    await operatorRevokeToken(dataFolderOf(processEnvironment(), currentFolder()), args.id, systemClock.wallMs());
    printResult({ revoked: true }, { json: args.json, text: () => "revoked" });
    return exitNumbers.done;
  },
});
