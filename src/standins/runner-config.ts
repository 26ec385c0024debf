// The runner.toml that the harness writes, with the server's address replaced and, where asked, words put before the
// agent's command. Its values are JSON strings on lines of their own, which is all that is understood here.
import { Failure } from "../base/failure.ts";
import type { StandinCode } from "./codes.ts";

export interface ConfigChange {
  readonly serverUrl: string;
  readonly pipe: { readonly command: string; readonly args: readonly string[] } | null;
  /** Leaves out what stands before the agent's own command. */
  readonly skipsRelay?: boolean;
}

export const rewriteConfig = {
  serverUrl: textOf("server_url"),
  token: textOf("token"),
  audit: auditIn,
  text: rewrite,
} as const;

function textOf(key: string): (text: string) => string {
  return (text) => {
    const value = new RegExp(`^${key} = (".*")$`, "m").exec(text)?.[1];
    if (value === undefined) throw new Failure<StandinCode>("standin_runner_config_unreadable");
    return JSON.parse(value) as string;
  };
}

function rewrite(text: string, { serverUrl, pipe, skipsRelay = false }: ConfigChange): string {
  const moved = put(text, "server_url", JSON.stringify(serverUrl));
  if (pipe === null && !skipsRelay) return moved;
  const all = [textOf("executable")(text), ...argsOf(text)];
  const own = skipsRelay ? all.slice(all.indexOf("--") + 1) : all;
  const [command, ...words] = pipe === null ? own : [pipe.command, ...pipe.args, ...own];
  return put(put(moved, "executable", JSON.stringify(command)), "args", JSON.stringify(words));
}

/** The relay's file, as the agent's command names it. */
function auditIn(text: string): string {
  const args = argsOf(text);
  const path = args[args.indexOf("--audit") + 1];
  if (!args.includes("--audit") || path === undefined)
    throw new Failure<StandinCode>("standin_runner_config_unreadable");
  return path;
}

function argsOf(text: string): string[] {
  return JSON.parse(/^args = (\[.*\])$/m.exec(text)?.[1] ?? "[]") as string[];
}

function put(text: string, key: string, value: string): string {
  return text.replace(new RegExp(`^${key} = .*$`, "m"), () => `${key} = ${value}`);
}
