// `proctor gateway rotate`: a fresh credential for a client into a private file, or a fresh bootstrap.
import { Failure } from "../base/failure.ts";
import { handOver, runtimeDir } from "./gateway-words.ts";
import { printResult } from "./result.ts";
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
    const forClient = args["client-id"] !== undefined && args.output !== undefined;
    if (forClient === (args.bootstrap === true)) throw new Failure("gateway_request_invalid");
    const request = forClient ? { op: "rotate", client_id: args["client-id"] } : { op: "rotate_bootstrap" };
    const { bearer, ...shown } = await askGateway(args["runtime-dir"], request);
    const { credential } = shown;
    if (forClient) await handOver(args["runtime-dir"], { bearer, credential, output: args.output! });
    printResult(shown, { json: true });
    return 0;
  },
});
