// The operator's side of the server: bounded HTTP, MCP tool calls through `call_runtime_tool`, and what each answer
// leaves in the report. An answer is data to weigh; only the caller's expectation decides whether it is a failure.
import { httpRequest } from "../base/bounded-http.ts";
import { codeOf, Failure } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { HarnessCode } from "./codes.ts";
import { harnessLimits } from "./limits.ts";
import type { Fields, ReportBook } from "./report-book.ts";

export const bindingFields = [
  "task_id",
  "attempt_id",
  "run_id",
  "project",
  "provider_id",
  "dispatch_state",
  "run_state",
  "execution_state",
  "execution_status",
  "execution_recovery",
  "replayed",
  "task_state",
  "attempt_state",
] as const;

/** Only the thirteen fields of a binding, and of these only the ones that were answered. */
export function bindingOf(output: Fields): Fields {
  return pick(output, bindingFields);
}

export function pick(from: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
}

/** A text field an answer has to have. */
export function textIn(value: unknown, ...path: readonly string[]): string {
  let at: unknown = value;
  for (const name of path) at = isRecord(at) ? at[name] : undefined;
  if (typeof at !== "string" || at === "") throw new Failure<HarnessCode>("tool_answer_incomplete");
  return at;
}

export interface OperatorOptions {
  readonly url: string;
  readonly httpTimeoutMs: number;
  readonly book: ReportBook;
  /** Asked when a call had no answer; true when it can be made once more. */
  readonly recover?: () => Promise<boolean>;
  /** Shown every answer to a tool call, as it came. */
  readonly answered?: (tool: string, answer: Uint8Array) => void;
}

export class Operator {
  readonly url: string;
  token = "";
  /** The last binding that named a run, also when its call failed. */
  binding: Fields | null = null;
  readonly #options: OperatorOptions;
  #requestId = 0;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.url = options.url;
  }

  async post(path: string, body: unknown, token: string): Promise<Fields> {
    return objectIn(await this.#request(path, body, token));
  }

  async initialize(token = this.token): Promise<void> {
    this.#requestId += 1;
    const answer = await this.post(
      "/mcp",
      {
        jsonrpc: "2.0",
        id: this.#requestId,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "proctor-accept", version: "1" },
        },
      },
      token,
    );
    const result = answer["result"];
    if (!isRecord(result) || typeof result["protocolVersion"] !== "string")
      throw new Failure<HarnessCode>("mcp_initialize_failed");
  }

  /** Calls a tool and gives its output; a result other than the expected one is `tool_<name>_<kind>`. */
  async tool(name: string, args: Fields, expectSuccess = true): Promise<Fields> {
    try {
      return await this.#expect(name, args, expectSuccess);
    } catch (error) {
      if ((await this.#options.recover?.()) !== true) throw error;
      delete this.#options.book.report["last_tool_failure"];
      // A token of the server that ended means nothing to the one that took over.
      const { after_observation_token: _, ...again } = args;
      return await this.#expect(name, again, expectSuccess);
    }
  }

  async #expect(name: string, args: Fields, expectSuccess: boolean): Promise<Fields> {
    const result = await this.#call(name, args);
    const output = result["output"] ?? {};
    if (!isRecord(output)) throw new Failure<HarnessCode>("invalid_mcp_output");
    this.#remember(name, output);
    if (result["success"] !== expectSuccess) this.#refuse(name, output);
    return output;
  }

  async #call(name: string, args: Fields): Promise<Fields> {
    this.#requestId += 1;
    const call = { name: "call_runtime_tool", arguments: { tool: name, arguments: args } };
    const body = { jsonrpc: "2.0", id: this.#requestId, method: "tools/call", params: call };
    const bytes = await this.#request("/mcp", body, this.token);
    this.#options.answered?.(name, bytes);
    const answer = objectIn(bytes);
    const result = isRecord(answer["result"]) ? answer["result"]["structuredContent"] : undefined;
    if (!isRecord(result)) throw new Failure<HarnessCode>("missing_mcp_result");
    return result;
  }

  /** A tool over REST with another token; null when the server does not answer it with success. */
  async restTool(name: string, params: Fields, token: string): Promise<Fields | null> {
    const answer = await this.post("/api/tools/call", { tool: name, params }, token);
    return answer["success"] === true && isRecord(answer["output"]) ? answer["output"] : null;
  }

  #remember(name: string, output: Fields): void {
    const { book } = this.#options;
    book.report["last_tool"] = name;
    if (name === "observe_coding_agent" || name === "reconcile_agent_task_coding_run") {
      const state = output["state"] ?? output["run_state"];
      if (typeof state === "string" && state !== "") book.managed["last_run_state"] = state;
      const terminal = isRecord(output["terminal"]) ? output["terminal"] : {};
      book.managed["last_terminal"] = pick(terminal, ["stop_reason", "error_code"]);
    }
    if (name === "start_agent_task_coding_run" && typeof output["run_id"] === "string") {
      this.binding = output;
      book.managed["run_id"] = output["run_id"];
      book.managed["latest_binding"] = bindingOf(output);
    }
  }

  #refuse(name: string, output: Fields): never {
    const { book } = this.#options;
    const kind = output["error_kind"];
    const code = typeof kind === "string" && /^[a-z0-9_]{1,100}$/.test(kind) ? kind : "failed";
    book.report["last_tool_failure"] = { tool: name, error_kind: code, ...bindingOf(output) };
    book.checkpoint("tool_failure");
    throw new Failure(`tool_${name}_${code}`);
  }

  async #request(path: string, body: unknown, token: string): Promise<Uint8Array> {
    const answer = await httpRequest({
      url: this.url + path,
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify(body),
      timeoutMs: this.#options.httpTimeoutMs,
      maxBytes: harnessLimits.httpBodyBytes,
    });
    return answer.body;
  }
}

function objectIn(bytes: Uint8Array): Fields {
  const value = parseJson(bytes);
  if (!isRecord(value)) throw new Failure<HarnessCode>("http_result_not_json");
  return value;
}

/** True for a fault of the connection, which a caller that waits for readiness may try again. */
export function isTransportFault(error: unknown): boolean {
  return codeOf(error).startsWith("http_");
}
