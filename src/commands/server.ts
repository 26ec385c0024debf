// `proctor server`: the embedded control plane, started the way `webcodex-server` is: by environment, without words.
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printText, tell } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "server",
    description: "Run the embedded control plane, or look after its tokens and data.",
    examples: [
      "WEBCODEX_TOKEN=… WEBCODEX_ADDR=127.0.0.1:8080 WEBCODEX_DATA=./data proctor server",
      "WEBCODEX_DATA=./data proctor server check",
    ],
    notes: [
      "WEBCODEX_ADDR is a loopback address (default 127.0.0.1:8080), WEBCODEX_DATA a folder of your own (default ./data). WEBCODEX_TOKEN is required.",
      "Further words: token create|list|revoke, check, backup, status.",
    ],
  },
  args: {
    version: { type: "boolean", description: "Print name and version on one line." },
    "observations-per-session": {
      type: "string",
      valueHint: "N",
      description: "Reports one session may hold.",
      defaultText: "256",
    },
  },
  words: {
    token: () => import("./server-token.ts"),
    check: () => import("./server-check.ts"),
    backup: () => import("./server-backup.ts"),
    status: () => import("./server-status.ts"),
  },
  async run({ args }) {
    if (args.version) {
      const { version } = await import("../version.ts");
      printText(`proctor-server ${version}`);
      return exitNumbers.done;
    }
    const { runServer } = await import("./server-run.ts");
    return runServer({
      environment: processEnvironment(),
      folder: currentFolder(),
      observationsPerSession: args["observations-per-session"],
      tell,
    });
  },
});
