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
    const command = quoted(observeWords(options.binary, requireAbsolute(options.observeConfig)));
    lines.push({ event: "PostToolUse", command, timeout: observeTimeoutS });
  }
  if (options.registry !== undefined) {
    const words = [options.binary, "hook", "recover", "--registry", requireAbsolute(options.registry)];
    const command = quoted([...cleanRuntime, ...words]);
    for (const event of ["SessionStart", "UserPromptSubmit"]) lines.push({ event, command, timeout: recoverTimeoutS });
  }
  return lines;
}

/**
 * Switches of the runtime that a project's settings could set are taken out before the program starts. Its memory may
 * come in the kernel's large pages, which it asks for in small ones otherwise: a start is mostly page faults.
 */
const cleanRuntime = ["/usr/bin/env", "-u", "BUN_OPTIONS", "-u", "BUN_BE_BUN", "MIMALLOC_ALLOW_THP=1"];

/**
 * The words a host starts the observer with. The runtime's compiler is left off: a hook that only saves ends before
 * compiled code could pay for itself. Only there: a lock needs foreign calls, and those need the compiler.
 */
export function observeWords(binary: string, configPath: string): string[] {
  const observe = ["hook", "observe", "--config", configPath, "--deliver", "background"];
  return [...cleanRuntime, "BUN_JSC_useJIT=0", binary, ...observe];
}

function quoted(words: readonly string[]): string {
  return words.map(shellQuoted).join(" ");
}

function requireAbsolute(path: string): string {
  if (!isAbsolutePath(path)) throw new Failure<HooksCode>("configuration_and_state_must_be_outside_project");
  return path;
}

/** One word for the host's shell. */
export function shellQuoted(word: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
