// One tool call, whoever carries it: rights first, then the closed schema, then the tool. REST and MCP share this.
import { visible } from "../base/visible.ts";
import type { Scope } from "../contract/scopes.ts";
import { missingScope } from "./principal.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";

export type Called =
  | { readonly called: "ran"; readonly result: ToolResult }
  | { readonly called: "missing_scope"; readonly scope: Scope }
  | { readonly called: "bootstrap_only" }
  | { readonly called: "invalid_arguments"; readonly error: string };

/** Runs the tool for this caller, or says why it was not run. */
export async function callTool(tool: Tool, args: unknown, context: ToolContext): Promise<Called> {
  const scope = missingScope(context.principal, tool.scopes);
  if (scope !== null) return { called: "missing_scope", scope };
  if (tool.bootstrapOnly === true && context.principal.kind !== "bootstrap") return { called: "bootstrap_only" };
  const parsed = tool.input().safeParse(args ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue === undefined || issue.path.length === 0 ? "arguments" : issue.path.join(".");
    return {
      called: "invalid_arguments",
      error: `Invalid arguments: ${visible(where, 100)}: ${issue?.code ?? "invalid"}`,
    };
  }
  return { called: "ran", result: await tool.run(context, parsed.data as never) };
}
