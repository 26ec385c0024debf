// Words about audit files.
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "audit",
    description: "Check a relay's audit file",
    examples: ["proctor audit verify audit.jsonl"],
  },
  words: { verify: () => import("./audit-verify.ts") },
});
