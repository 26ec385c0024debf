// `proctor standin`: scripted programs that fill a seat, each able to misbehave on purpose, by name.
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "standin",
    description: "Scripted stand-ins for every seat, each able to be bad in one way on purpose.",
    examples: ["proctor standin agent", "proctor standin list", "proctor standin model --scenario acceptance-python"],
  },
  words: {
    agent: () => import("./standin-agent.ts"),
    "app-server": () => import("./standin-app-server.ts"),
    exec: () => import("./standin-exec.ts"),
    model: () => import("./standin-model.ts"),
    pipe: () => import("./standin-pipe.ts"),
    plane: () => import("./standin-plane.ts"),
    runner: () => import("./standin-runner.ts"),
    list: () => import("./standin-list.ts"),
  },
});
