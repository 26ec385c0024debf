// `proctor gateway`: the credential gateway and its operator's words.
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
    list: () => import("./gateway-list.ts"),
    status: () => import("./gateway-status.ts"),
    revoke: () => import("./gateway-revoke.ts"),
    rotate: () => import("./gateway-rotate.ts"),
    terminate: () => import("./gateway-terminate.ts"),
    probe: () => import("./gateway-probe.ts"),
  },
});
