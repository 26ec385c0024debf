// The text an operator pastes into the host's own configuration. Printing is all that happens: installing a hook and
// trusting it are the operator's, through the host's own flow.
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";
import { isAbsolutePath } from "./roots.ts";

export interface HostConfigOptions {
  readonly binary: string;
  readonly observeConfig: string | undefined;
  readonly registry: string | undefined;
  readonly format: "hooks.json" | "config.toml";
}

interface HookLine {
  readonly event: string;
  readonly command: string;
  readonly timeout: number;
}

/** Seconds the host may wait: the hook's own deadlines and a margin. */
const observeTimeoutS = 30;
const recoverTimeoutS = 15;

/** Configuration for the hooks whose files were named. */
export function hostConfig(options: HostConfigOptions): string {
  const lines = hookLines(options);
  if (options.format === "config.toml") {
    return lines
      .map(
        ({ event, command, timeout }) =>
          `[[hooks.${event}]]\n[[hooks.${event}.hooks]]\ntype = "command"\ncommand = ${JSON.stringify(command)}\ntimeout = ${timeout}\n`,
      )
      .join("\n");
  }
  const hooks: Record<string, unknown> = {};
  for (const { event, command, timeout } of lines) hooks[event] = [{ hooks: [{ type: "command", command, timeout }] }];
  return `${JSON.stringify({ hooks }, null, 2)}\n`;
}

function hookLines(options: HostConfigOptions): HookLine[] {
  const lines: HookLine[] = [];
  if (options.observeConfig !== undefined) {
    const command = hookCommand(options.binary, ["observe", "--config", requireAbsolute(options.observeConfig)]);
    lines.push({ event: "PostToolUse", command: `${command} --deliver background`, timeout: observeTimeoutS });
  }
  if (options.registry !== undefined) {
    const command = hookCommand(options.binary, ["recover", "--registry", requireAbsolute(options.registry)]);
    for (const event of ["SessionStart", "UserPromptSubmit"]) lines.push({ event, command, timeout: recoverTimeoutS });
  }
  return lines;
}

function hookCommand(binary: string, words: readonly string[]): string {
  return hookWords(binary, words).map(shellQuoted).join(" ");
}

/**
 * The words a host starts a hook with. Switches of the runtime that a project's settings could set are taken out, and
 * its compiler is left off: a hook ends before compiled code could pay for itself.
 */
export function hookWords(binary: string, words: readonly string[]): string[] {
  const runtime = ["-u", "BUN_OPTIONS", "-u", "BUN_BE_BUN", "BUN_JSC_useJIT=0"];
  return ["/usr/bin/env", ...runtime, binary, "hook", ...words];
}

function requireAbsolute(path: string): string {
  if (!isAbsolutePath(path)) throw new Failure<HooksCode>("configuration_and_state_must_be_outside_project");
  return path;
}

/** One word for the host's shell. */
export function shellQuoted(word: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
