// `proctor gateway list`: one request over the private control socket.
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "list",
    description: "Show the issued credentials",
    examples: ["proctor gateway list --runtime-dir D"],
  },
  args: {
    "runtime-dir": { type: "string", required: true, valueHint: "D", description: "The gateway's private folder" },
  },
  async run({ args }) {
    const { askGateway } = await import("../gateway/control.ts");
    printResult(await askGateway(args["runtime-dir"], { op: "list" }), { json: true });
    return 0;
  },
});
