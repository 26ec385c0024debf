// Starts the adapter as the relay's one child, in the relay's own group and session, so that whoever ends the
// relay's tree ends it too. On Linux it is bound to die with the relay, even when that is killed with SIGKILL.

import { accessSync, closeSync, constants, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { Descriptors, type Sink } from "../base/descriptors.ts";
import { type Environment, pickEnvironment } from "../base/environment.ts";
import { Failure } from "../base/failure.ts";
import { selfCommand } from "../base/self.ts";
import type { Carrier } from "./carrier.ts";
import type { RelayCode } from "./codes.ts";
import { clientOutputSink, PollCarrier, reopened } from "./poll-carrier.ts";
import { StreamCarrier } from "./stream-carrier.ts";

export interface Adapter {
  readonly process: Bun.Subprocess;
  readonly carrier: Carrier;
}

export interface AdapterOptions {
  readonly command: readonly string[];
  readonly environment: Environment;
  /** The only variables that the adapter gets; all of them when empty. */
  readonly passOnly?: readonly string[];
  readonly cwd: string;
  /** The carrier of systems without poll(2), asked for by tests. */
  readonly overStreams?: boolean;
}

interface Start {
  readonly words: string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

/** Fails with `relay_program_not_started`. */
export function startAdapter(options: AdapterOptions): Adapter {
  const [name = "", ...args] = options.command;
  const env = adapterEnvironment(options.environment, options.passOnly);
  const program = findProgram(name, { path: env.PATH ?? "/usr/bin:/bin", cwd: options.cwd });
  if (program === null) throw new Failure<RelayCode>("relay_program_not_started");
  const bound = selfCommand(["exec-child", String(process.pid), "--", program, ...args]);
  const words = process.platform === "linux" ? [bound.command, ...bound.args] : [program, ...args];
  const start = { words, cwd: options.cwd, env };
  const kernel = options.overStreams === true ? null : Descriptors.open();
  const clientOutput = kernel === null ? null : clientOutputSink();
  try {
    return kernel === null || clientOutput === null ? overStreams(start) : overPipes(start, kernel, clientOutput);
  } catch (cause) {
    throw new Failure<RelayCode>("relay_program_not_started", { cause });
  }
}

function overStreams({ words, cwd, env }: Start): Adapter {
  const child = Bun.spawn(words, { cwd, env, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  return { process: child, carrier: new StreamCarrier(child) };
}

function overPipes({ words, cwd, env }: Start, kernel: Descriptors, clientOutput: Sink): Adapter {
  const [stdin, stdout, stderr] = [kernel.pipe(), kernel.pipe(), kernel.pipe()];
  if (stdin === null || stdout === null || stderr === null) throw new Error("no pipes left");
  const sink = { fd: reopened(stdin.writing), isSocket: false };
  const child = Bun.spawn(words, { cwd, env, stdio: [stdin.reading, stdout.writing, stderr.writing] });
  // Only the adapter may hold these, or we would never see it close them.
  for (const fd of [stdin.writing, stdin.reading, stdout.writing, stderr.writing]) closeSync(fd);
  const ends = { stdin: sink, stdout: stdout.reading, stderr: stderr.reading };
  return { process: child, carrier: new PollCarrier(kernel, { ends, clientOutput, adapter: child }) };
}

/** Variables that change how a runtime or git behaves; the adapter never gets them, named or not. */
export const runtimeSwitch = /^(?:BUN_|GIT_|NODE_OPTIONS$)/;

/**
 * What the adapter gets: the variables that are named, or, when none is, all that the relay itself was given. Whoever
 * started the relay in the adapter's place has chosen those for the adapter.
 */
export function adapterEnvironment(source: Environment, names: readonly string[] = []): Record<string, string> {
  const wanted = names.length > 0 ? names : Object.keys(source);
  return pickEnvironment(
    source,
    wanted.filter((name) => !runtimeSwitch.test(name)),
  );
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
