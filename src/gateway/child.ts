// Starts one program with a client's bearer in that child's environment and nowhere else; gives its exit number.
import { constants } from "node:os";
import { type Environment, pickEnvironment } from "../base/environment.ts";
import { Failure } from "../base/failure.ts";
import type { Secret } from "../base/secret.ts";
import type { GatewayCode } from "./codes.ts";

const passed = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "COLORTERM",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "CODEX_HOME",
  // Without these hardly a program starts on Windows.
  "SystemRoot",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "TEMP",
];

export interface CredentialChild {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly environment: Environment;
  readonly variable: string;
  /** Wiped by the start, whether it succeeds or not. */
  readonly bearer: Secret;
}

export function isVariableName(name: string): boolean {
  return (
    /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) && !/^(?:BUN_|NODE_OPTIONS|GIT_|LD_|DYLD_|PATH$|HOME$)/i.test(name)
  );
}

export async function runWithCredential(child: CredentialChild): Promise<number> {
  if (!isVariableName(child.variable)) throw new Failure<GatewayCode>("environment_name_invalid");
  const env = pickEnvironment(child.environment, passed);
  env[child.variable] = child.bearer.exposeText((text) => text);
  let started: Bun.Subprocess;
  try {
    started = Bun.spawn([...child.command], { cwd: child.cwd, env, stdio: ["inherit", "inherit", "inherit"] });
  } catch (error) {
    throw new Failure<GatewayCode>("child_not_started", { cause: error });
  } finally {
    delete env[child.variable];
    child.bearer.wipe();
  }
  await started.exited;
  const signal = started.signalCode;
  return signal === null ? (started.exitCode ?? 125) : 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}
