// The frames of `codex exec --json`, as the pinned versions write them: one JSON object a line.
// Only what both ends of our wire rely on; a reader takes foreign input as unknown and picks from it.

export interface CodexUsage {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_output_tokens: number;
}

export interface CodexMcpCall {
  readonly id: string;
  readonly type: "mcp_tool_call";
  readonly server?: string;
  readonly tool?: string;
  readonly arguments: unknown;
  readonly result: unknown;
  readonly error: { readonly message: string } | null;
  readonly status: "in_progress" | "completed" | "failed";
}

export type CodexItem = CodexMcpCall | (Readonly<Record<string, unknown>> & { readonly id: string });

export type CodexEvent =
  | { readonly type: "thread.started"; readonly thread_id: string }
  | { readonly type: "turn.started" }
  | { readonly type: "turn.completed"; readonly usage: CodexUsage }
  | { readonly type: "turn.failed"; readonly error: { readonly message: string } }
  | { readonly type: "error"; readonly message: string }
  | {
      readonly type: "item.started" | "item.updated" | "item.completed" | "item.failed";
      readonly item: CodexItem;
    };
