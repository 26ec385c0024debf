// `proctor gateway revoke`: by client id or credential id; answered when the live channel is closed.
import { runtimeDir } from "./gateway-words.ts";
import { printResult } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "revoke",
    description: "Revoke a client",
    examples: ["proctor gateway revoke --runtime-dir D --client-id X"],
  },
  args: {
    "runtime-dir": runtimeDir,
    "client-id": { type: "string", valueHint: "X", description: "All credentials of this client" },
    credential: { type: "string", valueHint: "ID", description: "One credential, as `list` names it" },
  },
  async run({ args }) {
    const { askGateway } = await import("../gateway/control.ts");
    if ((args["client-id"] === undefined) === (args.credential === undefined))
      throw new UsageError("Give one of --client-id X and --credential ID.");
    const request = { op: "revoke", client_id: args["client-id"], credential: args.credential };
    printResult(await askGateway(args["runtime-dir"], request), { json: true });
    return 0;
  },
});
