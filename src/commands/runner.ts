// `proctor runner`: offers projects and coding agents to a control plane until it is told to stop.
import { processEnvironment, stateFolder } from "../base/self.ts";
import { buildFacts } from "../version.ts";
import { printText, tell } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "runner",
    description: "Offer projects and coding agents to a control plane.",
    examples: ["proctor runner --config /run/private/runner.toml"],
  },
  args: {
    config: { type: "string", description: "The private runner.toml.", valueHint: "F" },
    version: { type: "boolean", description: "Print one line and stop." },
  },
  async run({ args }) {
    if (args.version) {
      printText(`proctor-runner ${buildFacts().version}`);
      return 0;
    }
    if (args.config === undefined) {
      tell("--config is needed: the path of a private runner.toml.");
      return 64;
    }
    const stop = new Promise<void>((resolve) => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
      process.on("SIGHUP", () => undefined);
    });
    const { readRunnerConfig } = await import("../runner/config-file.ts");
    const { runRunner } = await import("../runner/runner.ts");
    const environment = processEnvironment();
    const config = readRunnerConfig(args.config);
    await runRunner({
      config,
      environment,
      stateFolder: stateFolder(environment).replace(/proctor$/, "webcodex"),
      stop,
    });
    // Nothing of ours is left to wait for; a socket that closes slowly must not hold the process.
    process.exit(0);
  },
});
