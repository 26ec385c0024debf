// `proctor gateway issue`: the bearer goes into a new private file, or the client gets a socket; nothing is printed.
import { resolve } from "node:path";
import { clientId, handOver, preset, requireNewFile, runtimeDir } from "./gateway-words.ts";
import { printResult } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "issue",
    description: "Issue a client credential into a private file, or as a private socket",
    examples: ["proctor gateway issue --runtime-dir D --client-id tui --output F"],
  },
  args: {
    "runtime-dir": runtimeDir,
    "client-id": clientId,
    preset,
    output: { type: "string", valueHint: "F", description: "New private file for the bearer" },
    socket: { type: "string", valueHint: "PATH", description: "New socket that is the client's identity" },
  },
  async run({ args }) {
    const { askGateway } = await import("../gateway/control.ts");
    if ((args.output === undefined) === (args.socket === undefined))
      throw new UsageError("Give one of --output F and --socket PATH.");
    if (args.output !== undefined) requireNewFile(args.output);
    const socket = args.socket === undefined ? {} : { socket: resolve(args.socket) };
    const request = { op: "issue", client_id: args["client-id"], preset: args.preset ?? "interactive", ...socket };
    const { bearer, ...shown } = await askGateway(args["runtime-dir"], request);
    const { credential } = shown;
    if (args.output !== undefined) await handOver(args["runtime-dir"], { bearer, credential, output: args.output });
    printResult({ client_id: args["client-id"], ...shown }, { json: true });
    return 0;
  },
});
