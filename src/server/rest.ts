// POST /api/tools/call and /api/tools/list. A tool that refuses is HTTP 400 here; over MCP it is a 200.
import { isRecord } from "../base/json.ts";
import { callTool } from "./call-tool.ts";
import { json, missingScopeAnswer, refusal } from "./refusal.ts";
import type { ToolContext } from "./tool.ts";
import { allTools, findTool } from "./tools/registry.ts";

const wrapperKeys: ReadonlySet<string> = new Set(["tool", "params", "arguments", "recording_session_id"]);

/** Calls the named tool; every implemented tool is callable here, hidden ones too. */
export async function restCall(body: unknown, context: ToolContext): Promise<Response> {
  if (!isRecord(body)) return refusal(400, "Invalid JSON: an object is required");
  const name = body.tool;
  if (typeof name !== "string" || name === "") return refusal(400, "tool is required");
  const tool = findTool(name);
  if (tool === undefined) return refusal(400, "unknown tool");
  const called = await callTool(tool, argumentsOf(body), context);
  switch (called.called) {
    case "missing_scope":
      return missingScopeAnswer(called.scope);
    case "bootstrap_only":
      return refusal(403, "bootstrap credential required");
    case "invalid_arguments":
      return refusal(400, called.error);
    case "ran":
      return called.result.success
        ? json(200, { success: true, output: called.result.output })
        : json(400, { success: false, output: called.result.output, error: called.result.error });
  }
}

function argumentsOf(body: Record<string, unknown>): unknown {
  if (body.params !== undefined && body.params !== null) return body.params;
  if (body.arguments !== undefined && body.arguments !== null) return body.arguments;
  return Object.fromEntries(Object.entries(body).filter(([key]) => !wrapperKeys.has(key)));
}

/** Every tool a model may know of, with how it is reached. */
export function restList(): Response {
  const tools = allTools
    .filter((tool) => tool.visibility !== "hidden")
    .map((tool) => ({
      name: tool.name,
      description: tool.description,
      scopes: tool.scopes,
      direct: tool.visibility === "direct",
    }));
  return json(200, { success: true, tools });
}
