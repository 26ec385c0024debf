// Reads what `codex exec` is told: the MCP server out of the --config words, the project and files out of the prompt.
// It understands the inline tables the harness writes, not TOML as a whole.
import { Failure } from "../base/failure.ts";
import type { StandinCode } from "./codes.ts";

export interface McpTarget {
  readonly url: string;
  readonly tokenName: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Errand {
  readonly project: string;
  readonly paths: readonly string[];
}

/** The server `bidirectional` of the one `mcp_servers=` word. */
export function readMcpTarget(words: readonly string[]): McpTarget {
  const table = words.find((word) => word.startsWith("mcp_servers=")) ?? "";
  const url = quoted(table, "url");
  const tokenName = quoted(table, "bearer_token_env_var");
  if (!/\{\s*bidirectional\s*=/.test(table) || url === null || tokenName === null || !URL.canParse(url)) {
    throw new Failure<StandinCode>("standin_config_unreadable");
  }
  const headers: Record<string, string> = {};
  const list = /http_headers\s*=\s*\{([^}]*)\}/.exec(table)?.[1] ?? "";
  for (const [, name = "", value = ""] of list.matchAll(/"([^"]+)"\s*=\s*"([^"]*)"/g)) headers[name] = value;
  return { url, tokenName, headers };
}

/** Project and files as the prompt names them. */
export function readErrand(prompt: string): Errand {
  const project = /\bagent:[A-Za-z0-9_-]+:[A-Za-z0-9_-]+/.exec(prompt)?.[0] ?? "";
  const paths = [...new Set(prompt.match(/\b[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_-]+)+\.txt\b/g) ?? [])];
  return { project, paths };
}

function quoted(table: string, key: string): string | null {
  const text = new RegExp(`[{,]\\s*${key}\\s*=\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(table)?.[1];
  return text === undefined ? null : (JSON.parse(text) as string);
}
