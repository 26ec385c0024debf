// A small MCP client over HTTP: initialize, list, call, and the farewell. One request a connection, no redirects.
import { type HttpAnswer, httpRequest } from "../base/bounded-http.ts";
import { Failure } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { Secret } from "../base/secret.ts";
import type { StandinCode } from "./codes.ts";
import { standinLimits } from "./limits.ts";

export interface McpCallerOptions {
  readonly url: string;
  readonly token: Secret;
  readonly headers: Readonly<Record<string, string>>;
  readonly clientName: string;
  readonly clientVersion: string;
}

export class McpCaller {
  readonly #options: McpCallerOptions;
  #session: string | null = null;
  #protocol: string | null = null;
  #id = 0;

  constructor(options: McpCallerOptions) {
    this.#options = options;
  }

  /** Greets the server and returns the names of its tools. */
  async open(): Promise<string[]> {
    const { clientName, clientVersion } = this.#options;
    const greeting = await this.#ask("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: clientName, version: clientVersion },
    });
    this.#protocol = typeof greeting.protocolVersion === "string" ? greeting.protocolVersion : "2025-06-18";
    await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" });
    const list = await this.#ask("tools/list", {});
    const tools = Array.isArray(list.tools) ? list.tools : [];
    return tools.flatMap((tool) => (isRecord(tool) && typeof tool.name === "string" ? [tool.name] : []));
  }

  /** The tool's MCP result object. */
  async call(name: string, args: unknown): Promise<Record<string, unknown>> {
    return await this.#ask("tools/call", { name, arguments: args });
  }

  /** Says goodbye where the server gave a session; its answer does not matter. */
  async close(): Promise<void> {
    if (this.#session === null) return;
    try {
      await this.#send("DELETE");
    } catch {
      // The work is done; a server that is gone already needs no goodbye.
    }
  }

  async #ask(method: string, params: unknown): Promise<Record<string, unknown>> {
    const answer = await this.#post({ jsonrpc: "2.0", id: this.#id++, method, params });
    const value = parseJson(answer.body);
    if (!isRecord(value) || !isRecord(value.result)) throw new Failure<StandinCode>("standin_mcp_unavailable");
    return value.result;
  }

  async #post(message: unknown): Promise<HttpAnswer> {
    const answer = await this.#send("POST", JSON.stringify(message));
    this.#session ??= answer.headers["mcp-session-id"] ?? null;
    return answer;
  }

  async #send(method: string, body?: string): Promise<HttpAnswer> {
    const { url, token, headers } = this.#options;
    return await httpRequest({
      url,
      method,
      headers: {
        ...headers,
        accept: "text/event-stream, application/json",
        authorization: token.exposeText((text) => `Bearer ${text}`),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(this.#session === null ? {} : { "mcp-session-id": this.#session }),
        ...(this.#protocol === null ? {} : { "mcp-protocol-version": this.#protocol }),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: standinLimits.requestTimeoutMs,
      maxBytes: standinLimits.maxAnswerBytes,
    });
  }
}
