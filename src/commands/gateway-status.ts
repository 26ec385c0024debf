// `proctor gateway status`: one request over the private control socket.
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "status",
    description: "Show health, addresses and counts per client",
    examples: ["proctor gateway status --runtime-dir D"],
  },
  args: {
    "runtime-dir": { type: "string", required: true, valueHint: "D", description: "The gateway's private folder" },
  },
  async run({ args }) {
    const { askGateway } = await import("../gateway/control.ts");
    printResult(await askGateway(args["runtime-dir"], { op: "status" }), { json: true });
    return 0;
  },
});
