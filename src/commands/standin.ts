// `proctor standin`: scripted programs that fill a seat, each able to misbehave on purpose, by name.
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "standin",
    description: "Scripted stand-ins for the consumer, the ACP agent, the app-server and the model.",
    examples: ["proctor standin agent", "proctor standin list", "proctor standin model --scenario acceptance-python"],
  },
  words: {
    agent: () => import("./standin-agent.ts"),
    "app-server": () => import("./standin-app-server.ts"),
    exec: () => import("./standin-exec.ts"),
    model: () => import("./standin-model.ts"),
    list: () => import("./standin-list.ts"),
  },
});
