// The runner.toml that the harness writes, with the server's address replaced and, where asked, words put before the
// agent's command. Its values are JSON strings on lines of their own, which is all that is understood here.
import { Failure } from "../base/failure.ts";
import type { StandinCode } from "./codes.ts";

export interface ConfigChange {
  readonly serverUrl: string;
  readonly pipe: { readonly command: string; readonly args: readonly string[] } | null;
}

export const rewriteConfig = { serverUrl: textOf("server_url"), token: textOf("token"), text: rewrite } as const;

function textOf(key: string): (text: string) => string {
  return (text) => {
    const value = new RegExp(`^${key} = (".*")$`, "m").exec(text)?.[1];
    if (value === undefined) throw new Failure<StandinCode>("standin_runner_config_unreadable");
    return JSON.parse(value) as string;
  };
}

function rewrite(text: string, { serverUrl, pipe }: ConfigChange): string {
  const moved = put(text, "server_url", JSON.stringify(serverUrl));
  if (pipe === null) return moved;
  const command = textOf("executable")(text);
  const args = JSON.parse(/^args = (\[.*\])$/m.exec(text)?.[1] ?? "[]") as string[];
  const words = [...pipe.args, command, ...args];
  return put(put(moved, "executable", JSON.stringify(pipe.command)), "args", JSON.stringify(words));
}

function put(text: string, key: string, value: string): string {
  return text.replace(new RegExp(`^${key} = .*$`, "m"), () => `${key} = ${value}`);
}
