// `proctor server token create`: the new token goes into a private file or, on request, to stdout; never elsewhere.
import { resolve } from "node:path";
import { systemClock } from "../base/clock.ts";
import { createPrivateFile } from "../base/private-files.ts";
import { systemRandom } from "../base/random.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { dataFolderOf } from "./server-run.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "create",
    description: "Make a token; it is shown once.",
    examples: ["proctor server token create --user ann --scope project:read --scope runtime:read --file ./ann.token"],
  },
  args: {
    user: { type: "string", required: true, valueHint: "NAME", description: "Whose token." },
    "new-user": { type: "boolean", description: "Make the user when there is none." },
    name: { type: "string", valueHint: "TEXT", description: "What the token is for." },
    scope: { type: "string", repeatable: true, valueHint: "SCOPE", description: "A right of the token." },
    expires: { type: "string", valueHint: "SECONDS", description: "Unix time at which it ends." },
    file: {
      type: "string",
      valueHint: "F",
      description: "Write the token into this new private file instead of stdout.",
    },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    const { operatorCreateToken } = await import("../server/operator.ts");
    if (args.expires !== undefined && !/^[1-9][0-9]{0,11}$/.test(args.expires))
      throw new UsageError("--expires takes Unix seconds.");
    const folder = currentFolder();
    const wish = {
      username: args.user,
      name: args.name ?? "operator",
      scopes: args.scope ?? [],
      createUser: args["new-user"],
      expiresAt: args.expires === undefined ? null : Number(args.expires),
    };
    const moment = { wallMs: systemClock.wallMs(), random: systemRandom };
    const made = await operatorCreateToken(dataFolderOf(processEnvironment(), folder), wish, moment);
    const facts = { token_id: made.tokenId, token_prefix: made.tokenPrefix };
    if (args.file !== undefined) createPrivateFile(resolve(folder, args.file), `${made.token}\n`);
    const shown = args.file === undefined ? { ...facts, token: made.token } : facts;
    printResult(shown, {
      json: args.json,
      text: () => (args.file === undefined ? made.token : `made ${made.tokenId}`),
    });
    return exitNumbers.done;
  },
});
