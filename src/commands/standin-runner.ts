// `proctor standin runner`: takes the runner's own words and starts the real embedded runner behind itself.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeUtf8 } from "../base/bytes.ts";
import { pickEnvironment } from "../base/environment.ts";
import { Failure } from "../base/failure.ts";
import { createPrivateFile, readPrivateFile } from "../base/private-files.ts";
import { currentFolder, processEnvironment, selfCommand } from "../base/self.ts";
import type { StandinCode } from "../standins/codes.ts";
import type { RunnerMisbehaviour } from "../standins/runner-misbehaviours.ts";
import { version } from "../version.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printText, tell } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

/** What the runner reads itself, beside the names it maps into its agent. */
const ownNames = ["TMPDIR", "LANG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

export default defineStrictCommand({
  meta: {
    name: "runner",
    description: "A runner that is wrong in one way: the embedded runner behind a loopback proxy.",
    examples: ["proctor standin runner --config /run/private/runner.toml --misbehave prompts-twice"],
    notes: ["`proctor standin list` names what it can do wrong."],
  },
  args: {
    config: { type: "string", description: "The private runner.toml.", valueHint: "F" },
    misbehave: { type: "string", valueHint: "NAME", description: "Be bad in this one way." },
    version: { type: "boolean", description: "Print name and version." },
  },
  async run({ args }) {
    if (args.version) {
      printText(`proctor-standin-runner ${version}`);
      return exitNumbers.done;
    }
    const { runnerMisbehaviours } = await import("../standins/runner-misbehaviours.ts");
    const named = args.misbehave ?? "honest";
    if (named !== "honest" && !Object.hasOwn(runnerMisbehaviours, named))
      throw new Failure<StandinCode>("standin_unknown_misbehaviour");
    if (args.config === undefined) throw new UsageError("--config is needed: the path of a private runner.toml.");
    return await serve(args.config, named as RunnerMisbehaviour | "honest");
  },
});

async function serve(path: string, misbehave: RunnerMisbehaviour | "honest"): Promise<number> {
  const { openRunnerFront } = await import("../standins/runner-front.ts");
  const { startInner } = await import("../standins/inner-program.ts");
  const { rewriteConfig } = await import("../standins/runner-config.ts");
  const { standinLimits } = await import("../standins/limits.ts");
  const text = decodeUtf8(readPrivateFile(path, { maxBytes: standinLimits.maxConfigBytes })) ?? "";
  const folder = mkdtempSync(join(tmpdir(), "proctor-runner-"));
  const forget = (): void => rmSync(folder, { recursive: true, force: true });
  let end: () => void = () => undefined;
  const back = (): void => {
    if (misbehave === "writes-into-the-audit") copyFirstLine(rewriteConfig.audit(text));
  };
  const front = openRunnerFront({ serverUrl: rewriteConfig.serverUrl(text), misbehave, die: () => end(), back });
  const config = join(folder, "runner.toml");
  createPrivateFile(
    config,
    rewriteConfig.text(text, {
      serverUrl: front.url,
      pipe: pipeWords(misbehave),
      skipsRelay: misbehave === "skips-the-relay",
    }),
  );
  if (misbehave === "prints-secret") tell(`token ${rewriteConfig.token(text)}`);
  const asked = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => asked.resolve());
  const { mappedNames } = await import("../harness/workspace.ts");
  const env = pickEnvironment(processEnvironment(), [...mappedNames, ...ownNames]);
  const words = selfCommand(["runner", "--config", config]);
  const runner = startInner({ words, env, cwd: currentFolder(), onLine: tell });
  end = () => {
    runner.kill("SIGKILL");
    forget();
    process.exit(exitNumbers.failed);
  };
  await Promise.race([asked.promise, runner.exited]);
  runner.kill("SIGINT");
  await runner.exited;
  forget();
  await front.close();
  process.exit(exitNumbers.done);
}

/** The words put before the agent's own command, where the name is about the agent. */
function pipeWords(misbehave: string): { readonly command: string; readonly args: readonly string[] } | null {
  const modes: Readonly<Record<string, string>> = {
    "prompts-twice": "prompts-twice",
    "starts-adapter-twice": "starts-twice",
    "dies-before-restart": "holds-setup",
  };
  const mode = modes[misbehave];
  return mode === undefined ? null : selfCommand(["standin", "pipe", "--mode", mode, "--"]);
}

/** A record that stands a second time: each line by itself is whole. */
function copyFirstLine(path: string): void {
  const text = readFileSync(path, "utf8");
  appendFileSync(path, text.slice(0, text.indexOf("\n") + 1));
}
