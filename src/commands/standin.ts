// `proctor standin`: scripted programs that fill a seat, each able to misbehave on purpose, by name.
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "standin",
    description: "Scripted stand-ins for the consumer and the ACP agent.",
    examples: ["proctor standin agent", "proctor standin list"],
  },
  words: {
    agent: () => import("./standin-agent.ts"),
    exec: () => import("./standin-exec.ts"),
    list: () => import("./standin-list.ts"),
  },
});
