// What a request to the control plane asks for, read from its body, and what its answer says: MCP through
// `call_runtime_tool`, a tool of its own name, or the REST route. Anything else is passed on unread.
import { isRecord, parseJson } from "../base/json.ts";

export interface Call {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly over: "mcp" | "rest";
}

/** The tool call in a request, or null. */
export function readCall(path: string, body: string): Call | null {
  const value = parseJson(body);
  if (!isRecord(value)) return null;
  if (path === "/api/tools/call") return named(value.tool, value.params, "rest");
  if (path !== "/mcp" || value.method !== "tools/call" || !isRecord(value.params)) return null;
  const { name, arguments: given } = value.params;
  if (name !== "call_runtime_tool") return named(name, given, "mcp");
  return isRecord(given) ? named(given.tool, given.arguments, "mcp") : null;
}

/** Changes the tool's result inside an answer; an answer that holds none stays as it is. */
export function changeResult(
  call: Call,
  answer: string,
  change: (result: Record<string, unknown>, output: Record<string, unknown>) => void,
): string {
  const value = parseJson(answer);
  if (!isRecord(value)) return answer;
  const result = call.over === "rest" ? value : isRecord(value.result) ? value.result.structuredContent : null;
  if (!isRecord(result)) return answer;
  if (!isRecord(result.output)) result.output = {};
  change(result, result.output as Record<string, unknown>);
  if (call.over === "mcp" && isRecord(value.result))
    value.result.content = [{ type: "text", text: JSON.stringify(result) }];
  return JSON.stringify(value);
}

/** The same id, but another one. */
export function otherId(id: unknown): string {
  const text = String(id);
  return `${text.slice(0, -1)}${text.endsWith("0") ? "1" : "0"}`;
}

function named(tool: unknown, args: unknown, over: Call["over"]): Call | null {
  return typeof tool === "string" ? { tool, args: isRecord(args) ? args : {}, over } : null;
}
