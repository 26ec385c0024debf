// `proctor server token …`: tokens of a stopped or running server, by its data folder.
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "token",
    description: "Make, list and revoke tokens of the server of WEBCODEX_DATA.",
    examples: ["proctor server token create --user ann --scope project:read", "proctor server token list"],
  },
  words: {
    create: () => import("./server-token-create.ts"),
    list: () => import("./server-token-list.ts"),
    revoke: () => import("./server-token-revoke.ts"),
  },
});
