// The server-sent events of one answered turn, in the order that Codex reads them.
import type { OutputItem } from "../contract/responses.ts";

const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 110,
};

/** The whole event stream of `items` as text. */
export function eventStream(responseId: string, model: unknown, items: readonly OutputItem[]): string {
  const base = { id: responseId, object: "response", created_at: 0, model, parallel_tool_calls: false, tools: [] };
  const events: Array<readonly [string, object]> = [
    ["response.created", { response: { ...base, status: "in_progress", output: [] } }],
    ...items.flatMap((item, at) => itemEvents(item, at)),
    ["response.completed", { response: { ...base, status: "completed", output: items, usage } }],
  ];
  return events
    .map(
      ([type, fields], at) => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...fields })}\n\n`,
    )
    .join("");
}

function itemEvents(item: OutputItem, at: number): Array<readonly [string, object]> {
  const place = { item_id: item.id, output_index: at };
  const added = (change: object) =>
    ["response.output_item.added", { output_index: at, item: { ...item, ...change } }] as const;
  const done = ["response.output_item.done", { output_index: at, item }] as const;
  if (item.type === "message") {
    const text = (item.content as readonly { readonly text: string }[])[0]?.text ?? "";
    const part = { ...place, content_index: 0 };
    return [
      added({ status: "in_progress", content: [] }),
      ["response.content_part.added", { ...part, part: { type: "output_text", text: "", annotations: [] } }],
      ["response.output_text.delta", { ...part, delta: text }],
      ["response.output_text.done", { ...part, text }],
      done,
    ];
  }
  if (item.type === "reasoning") return [added({ summary: [] }), done];
  return [added({ status: "in_progress" }), done];
}
