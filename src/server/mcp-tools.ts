// tools/list and tools/call: direct tools by name, the rest through call_runtime_tool, hidden ones never.
import { isRecord } from "../base/json.ts";
import { z } from "../contract/schema.ts";
import type { Scope } from "../contract/scopes.ts";
import { callTool } from "./call-tool.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";
import { allTools, findTool } from "./tools/registry.ts";

const gatewayName = "call_runtime_tool";

const gatewayRow = {
  name: gatewayName,
  description: "Call any runtime tool by name. The rights and checks are those of the tool itself.",
  inputSchema: {
    type: "object",
    properties: { tool: { type: "string", minLength: 1 }, arguments: { type: "object" } },
    required: ["tool"],
    additionalProperties: false,
  },
};

let listed: ReadonlyArray<Record<string, unknown>> | undefined;

/** The rows of tools/list, built once. */
export function mcpListTools(): ReadonlyArray<Record<string, unknown>> {
  listed ??= [...allTools.filter((tool) => tool.visibility === "direct").map(listRow), gatewayRow];
  return listed;
}

function listRow(tool: Tool): Record<string, unknown> {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(tool.input(), { io: "input" }) as Record<string, unknown>;
  const row = { name: tool.name, description: tool.description, inputSchema };
  return tool.annotations === undefined ? row : { ...row, annotations: tool.annotations };
}

export type McpCalled =
  | { readonly result: Record<string, unknown> }
  | { readonly scope: Scope }
  | { readonly error: string };

/** Runs `params.name`; the answer's structuredContent is the tool's own {success, output, error}. */
export async function mcpCallTool(params: Record<string, unknown>, context: ToolContext): Promise<McpCalled> {
  const args = params.arguments ?? {};
  if (typeof params.name !== "string") return { error: "name is required" };
  if (!isRecord(args)) return { error: "arguments must be an object" };
  if (params.name === gatewayName) return throughGateway(args, context);
  const tool = findTool(params.name);
  if (tool === undefined || tool.visibility === "hidden") return { error: "Unknown tool" };
  if (tool.visibility === "gateway") return { error: `This tool is called through ${gatewayName}` };
  return run(tool, args, context);
}

async function throughGateway(args: Record<string, unknown>, context: ToolContext): Promise<McpCalled> {
  const { tool: name, arguments: inner, ...extra } = args;
  if (typeof name !== "string" || Object.keys(extra).length > 0)
    return { error: `${gatewayName} takes tool and arguments` };
  const tool = findTool(name);
  if (tool === undefined || tool.visibility === "hidden") return { error: "Unknown tool" };
  return run(tool, inner ?? {}, context);
}

async function run(tool: Tool, args: unknown, context: ToolContext): Promise<McpCalled> {
  const called = await callTool(tool, args, context);
  switch (called.called) {
    case "missing_scope":
      return { scope: called.scope };
    case "bootstrap_only":
      return { error: "Unknown tool" };
    case "invalid_arguments":
      return { error: called.error };
    case "ran":
      return { result: envelope(called.result) };
  }
}

function envelope(result: ToolResult): Record<string, unknown> {
  const content = { success: result.success, output: result.output, error: result.success ? null : result.error };
  return {
    content: [{ type: "text", text: JSON.stringify(content) }],
    structuredContent: content,
    isError: !result.success,
  };
}
