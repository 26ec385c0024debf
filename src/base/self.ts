// What this process is and where it stands. The one place below commands/ that reads the process itself.
import type { Environment } from "./environment.ts";
import { Failure } from "./failure.ts";

export function processEnvironment(): Environment {
  return process.env;
}

export function currentFolder(): string {
  return process.cwd();
}

/** The program file that runs: the compiled binary, or Bun when run from source. */
export function executablePath(): string {
  return process.execPath;
}

/** The words that start this program again with other arguments, compiled or from source. */
export function selfCommand(args: readonly string[]): { readonly command: string; readonly args: string[] } {
  if (Bun.isStandaloneExecutable) return { command: process.execPath, args: [...args] };
  const main = Bun.fileURLToPath(new URL("../main.ts", import.meta.url));
  return { command: process.execPath, args: [main, ...args] };
}

/** The arguments when this command line would start this very program again, or null. */
export function ownArguments(command: string, args: readonly string[]): readonly string[] | null {
  const self = selfCommand([]);
  const own = command === self.command && self.args.every((word, at) => word === args[at]);
  return own ? args.slice(self.args.length) : null;
}

/** The user's home as the environment names it; it must be absolute. */
export function homeFolder(environment: Environment = processEnvironment()): string {
  const home = process.platform === "win32" ? environment.USERPROFILE : environment.HOME;
  if (home === undefined || !isAbsolute(home)) throw new Failure("home_folder_missing");
  return home;
}

/** Where Proctor keeps what must outlive a run. A relative XDG_STATE_HOME is ignored, as its standard asks. */
export function stateFolder(environment: Environment = processEnvironment()): string {
  const named = environment.XDG_STATE_HOME;
  const base = named !== undefined && isAbsolute(named) ? named : `${homeFolder(environment)}/.local/state`;
  return `${base.replace(/\/+$/, "")}/proctor`;
}

/** The effective user id, or null where there is none. */
export function effectiveUserId(): number | null {
  return process.geteuid === undefined ? null : process.geteuid();
}

function isAbsolute(path: string): boolean {
  return process.platform === "win32" ? /^[A-Za-z]:[\\/]/.test(path) : path.startsWith("/");
}
