// `proctor gateway`: the credential gateway and its operator's words.
import { question } from "./gateway-words.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "gateway",
    description: "Give each local program its own credential in front of one app-server",
    examples: ["proctor gateway serve --runtime-dir /run/user/1000/g -- codex app-server"],
  },
  words: {
    serve: () => import("./gateway-serve.ts"),
    exec: () => import("./gateway-exec.ts"),
    issue: () => import("./gateway-issue.ts"),
    list: async () => ({ default: question("list", "Show the issued credentials") }),
    status: async () => ({ default: question("status", "Show health, addresses and counts per client") }),
    revoke: () => import("./gateway-revoke.ts"),
    rotate: () => import("./gateway-rotate.ts"),
    terminate: async () => ({ default: question("terminate", "Revoke every client, then end the runtime") }),
    probe: () => import("./gateway-probe.ts"),
  },
});
