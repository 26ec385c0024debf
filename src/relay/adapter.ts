// Starts the adapter as the relay's one child, in the relay's own group and session, so that whoever ends the
// relay's tree ends it too. On Linux it is bound to die with the relay, even when that is killed with SIGKILL.

import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { Environment } from "../base/environment.ts";
import { Failure } from "../base/failure.ts";
import { selfCommand } from "../base/self.ts";
import type { RelayCode } from "./codes.ts";

export type Adapter = Bun.Subprocess<"pipe", "pipe", "pipe">;

export interface AdapterOptions {
  readonly command: readonly string[];
  readonly environment: Environment;
  readonly cwd: string;
}

/** Fails with `relay_program_not_started`. */
export function startAdapter(options: AdapterOptions): Adapter {
  const [name = "", ...args] = options.command;
  const env = adapterEnvironment(options.environment);
  const program = findProgram(name, { path: env.PATH ?? "/usr/bin:/bin", cwd: options.cwd });
  if (program === null) throw new Failure<RelayCode>("relay_program_not_started");
  const bound = selfCommand(["exec-child", String(process.pid), "--", program, ...args]);
  const words = process.platform === "linux" ? [bound.command, ...bound.args] : [program, ...args];
  try {
    return Bun.spawn(words, { cwd: options.cwd, env, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  } catch (cause) {
    throw new Failure<RelayCode>("relay_program_not_started", { cause });
  }
}

/** What the relay was given, without the switches that change how a runtime or git behaves. */
export function adapterEnvironment(source: Environment): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (value !== undefined && !/^(?:BUN_|GIT_|NODE_OPTIONS$)/.test(name)) env[name] = value;
  }
  return env;
}

function findProgram(name: string, where: { readonly path: string; readonly cwd: string }): string | null {
  if (name.includes("/")) return executable(resolve(where.cwd, name));
  for (const folder of where.path.split(":")) {
    // A relative entry would let the current folder choose the program.
    const found = isAbsolute(folder) ? executable(resolve(folder, name)) : null;
    if (found !== null) return found;
  }
  return null;
}

function executable(path: string): string | null {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : null;
  } catch {
    return null;
  }
}
