// What the consumer asks for and what it shows: the request and the shown result, changed in the one way a name says.
import { isRecord } from "../base/json.ts";
import type { Errand } from "./exec-argv.ts";
import type { ExecMisbehaviour } from "./exec-misbehaviours.ts";

/** The arguments of one read of `paths`. */
export function readArguments(
  name: ExecMisbehaviour,
  errand: Errand,
  paths: readonly string[],
): Record<string, unknown> {
  const items: Record<string, unknown>[] = paths.map((path) => ({ path }));
  if (name === "wrong-range") items[0]!.start_line = 2;
  if (name === "has-more") items[0]!.limit = 1;
  if (name === "other-file") items.push({ path: "README.md" });
  return { project: errand.project, items, ...(name === "numbered" ? { with_line_numbers: true } : {}) };
}

/** The arguments as the event stream shows them. */
export function shownArguments(name: ExecMisbehaviour, args: Record<string, unknown>): Record<string, unknown> {
  if (name === "wrong-project") return { ...args, project: "agent:codex-acceptance-runner:elsewhere" };
  if (name === "lifecycle-argument") return { ...args, session_id: "wc_sess_0" };
  return args;
}

/** The MCP result as the event stream shows it. */
export function shownResult(name: ExecMisbehaviour, result: Record<string, unknown>): Record<string, unknown> {
  const structured = structuredClone(result.structuredContent);
  if (name === "no-structured-result") return { content: [{ type: "text", text: "two files were read" }] };
  if (isRecord(structured)) alter(name, structured);
  return { content: [{ type: "text", text: JSON.stringify(structured) }], structured_content: structured };
}

function alter(name: ExecMisbehaviour, structured: Record<string, unknown>): void {
  const output = isRecord(structured.output) ? structured.output : {};
  const items = Array.isArray(output.items) ? output.items : [];
  const first = isRecord(items[0]) ? items[0] : {};
  const file = isRecord(first.output) ? first.output : {};
  const text = typeof file.text === "string" ? file.text : "";
  if (name === "unsuccessful-result") structured.success = false;
  if (name === "failed-count") output.failed_count = 1;
  if (name === "item-failed") first.success = false;
  if (name === "truncated") file.text = text.slice(0, -1);
  if (name === "altered") file.text = `${text.slice(0, -2)}X\n`;
}

/** A receipt written from the bytes on disk, for the consumer that never asks the server. */
export function forgedResult(texts: ReadonlyMap<string, string>): Record<string, unknown> {
  const items = [...texts].map(([path, text], index) => ({
    index,
    path,
    success: true,
    output: { text, format: "plain", path, start_line: 1, limit: 2000, has_more: false, read_revision: 1 },
    error: null,
  }));
  return { structuredContent: { success: true, output: { failed_count: 0, items }, error: null } };
}

/** The final message. */
export function answerText(name: ExecMisbehaviour, texts: Iterable<string>): string {
  const values: Record<string, string> = {};
  for (const text of texts) {
    for (const line of text.split("\n")) {
      const equals = line.indexOf("=");
      if (equals > 0) values[line.slice(0, equals)] = line.slice(equals + 1);
    }
  }
  const first = Object.keys(values)[0] ?? "";
  if (name === "wrong-value") values[first] = "something else";
  if (name === "missing-key") delete values[first];
  if (name === "extra-key") values.EXTRA = "more";
  const json = JSON.stringify(values);
  if (name === "prefixed") return `Here it is: ${json}`;
  if (name === "double-answer") return `${json}\n${json}`;
  if (name === "prose-answer") return "Both files were read; all values are as expected.";
  if (name === "honest-fenced") return `\`\`\`json\n${json}\n\`\`\``;
  return json;
}
