// `proctor self`: questions about the executable itself.
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: { name: "self", description: "Check the executable itself.", examples: ["proctor self verify SHA256SUMS"] },
  words: { verify: () => import("./self-verify.ts") },
});
