// `proctor gateway rotate`: a fresh credential for a client into a private file, or a fresh bootstrap.
import { handOver, requireNewFile, runtimeDir } from "./gateway-words.ts";
import { printResult } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "rotate",
    description: "Rotate a client or the bootstrap",
    examples: ["proctor gateway rotate --runtime-dir D --bootstrap"],
  },
  args: {
    "runtime-dir": runtimeDir,
    "client-id": { type: "string", valueHint: "X", description: "The client that gets a new credential" },
    output: { type: "string", valueHint: "F", description: "New private file for its bearer" },
    bootstrap: { type: "boolean", description: "Rotate the operator's bootstrap file instead" },
  },
  async run({ args }) {
    const { askGateway } = await import("../gateway/control.ts");
    const { "client-id": client, output } = args;
    if (args.bootstrap) {
      if (client !== undefined || output !== undefined)
        throw new UsageError("--bootstrap goes with neither --client-id nor --output.");
    } else if (client === undefined) throw new UsageError("Give --client-id X with --output F, or --bootstrap.");
    else if (output === undefined) throw new UsageError("--client-id needs --output F, the new file for the bearer.");
    else requireNewFile(output);
    const request = client === undefined ? { op: "rotate_bootstrap" } : { op: "rotate", client_id: client };
    const { bearer, ...shown } = await askGateway(args["runtime-dir"], request);
    const { credential } = shown;
    if (output !== undefined) await handOver(args["runtime-dir"], { bearer, credential, output });
    printResult(shown, { json: true });
    return 0;
  },
});
