// read_files: whole files or line ranges, read by the Runner that owns the project. Each served item leaves a durable
// receipt before the answer goes out; an item that failed leaves none.
import { sha256Hex, utf8 } from "../../base/bytes.ts";
import { isRecord } from "../../base/json.ts";
import { z } from "../../contract/schema.ts";
import { serverLimits } from "../limits.ts";
import { addReceipts } from "../receipts.ts";
import { type RunnerProject, visibleProject } from "../runner-registry.ts";
import { recordToolCall } from "../sessions.ts";
import { defineTool, refuse, succeed, type ToolContext } from "../tool.ts";

interface Item {
  readonly path: string;
  readonly start_line?: number | undefined;
  readonly limit?: number | undefined;
}

type Served = { readonly path: string } & (
  | { readonly ok: true; readonly text: string; readonly output: Record<string, unknown> }
  | { readonly ok: false; readonly reason: string }
);

const knownReasons: ReadonlySet<string> = new Set(
  "invalid_path sensitive_path not_found not_file permission_denied invalid_utf8 range_too_large agent_unavailable timeout malformed_agent_response io_error".split(
    " ",
  ),
);

export const readFiles = defineTool({
  name: "read_files",
  description: "Read up to eight text files of one project, whole or by line range.",
  scopes: ["project:read"],
  visibility: "direct",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: () =>
    z.strictObject({
      project: z.string().min(1).max(512),
      items: z
        .array(
          z.strictObject({
            path: z.string().min(1).max(serverLimits.maxPathChars),
            start_line: z.int().min(0).optional(),
            limit: z.int().optional(),
          }),
        )
        .min(1)
        .max(serverLimits.maxReadItems),
      with_line_numbers: z.boolean().optional(),
      session_id: z.string().max(128).optional(),
    }),
  async run(context, args) {
    const project = visibleProject(context.runners, context.principal, args.project);
    if (project === null) return refuse("project_not_found", "No such project.", { recovery_kind: "reobserve" });
    const served = await readAll(context, project, args.items);
    const fitting = whatFits(served);
    const shown = served.slice(0, fitting);
    const good = shown.filter((item) => item.ok);
    const now = Math.floor(context.clock.wallMs() / 1000);
    await context.store.write((db) =>
      addReceipts(
        db,
        good.map((item) => ({
          tokenId: context.principal.tokenId,
          tool: "read_files",
          project: project.id,
          path: item.path,
          textSha256: sha256Hex(item.text),
          servedAt: now,
        })),
      ),
    );
    if (args.session_id !== undefined)
      await recordToolCall(context, args.session_id, {
        tool: "read_files",
        project: project.id,
        paths: shown.map((item) => item.path),
        ok: good.length === shown.length,
      });
    return succeed({
      project: project.id,
      requested_count: args.items.length,
      returned_count: shown.length,
      succeeded_count: good.length,
      failed_count: shown.length - good.length,
      items: shown.map((item, index) => itemRow(item, { index, numbered: args.with_line_numbers === true })),
      output_truncated: fitting < served.length,
      next_index: fitting < served.length ? fitting : null,
    });
  },
});

async function readAll(context: ToolContext, project: RunnerProject, items: readonly Item[]): Promise<Served[]> {
  const served: Served[] = [];
  for (let at = 0; at < items.length; at += serverLimits.parallelReads) {
    const group = items.slice(at, at + serverLimits.parallelReads);
    served.push(...(await Promise.all(group.map((item) => readOne(context, project, item)))));
  }
  return served;
}

async function readOne(context: ToolContext, project: RunnerProject, item: Item): Promise<Served> {
  const limit = Math.min(Math.max(item.limit ?? serverLimits.maxReadLines, 1), serverLimits.maxReadLines);
  const startLine = Math.max(item.start_line ?? 1, 1);
  const answer = await context.runners.request(project.clientId, {
    kind: "file_read",
    timeoutMs: serverLimits.readTimeoutMs,
    payload: { project: project.projectId, path: item.path, start_line: startLine, limit },
  });
  const failed = (reason: string): Served => ({ path: item.path, ok: false, reason });
  if (answer.outcome === "offline" || answer.outcome === "lost") return failed("agent_unavailable");
  if (answer.outcome === "timeout") return failed("timeout");
  const { file, reason_code: reason } = answer.result;
  if (typeof reason === "string") return failed(knownReasons.has(reason) ? reason : "malformed_agent_response");
  if (
    !isRecord(file) ||
    typeof file.text !== "string" ||
    typeof file.total_lines !== "number" ||
    typeof file.sha256 !== "string"
  )
    return failed("malformed_agent_response");
  if (utf8(file.text).length > serverLimits.maxReadRangeBytes) return failed("range_too_large");
  return { path: item.path, ok: true, text: file.text, output: rangeFacts(file, { startLine, limit }) };
}

function rangeFacts(
  file: Record<string, unknown>,
  range: { readonly startLine: number; readonly limit: number },
): Record<string, unknown> {
  const total = file.total_lines as number;
  const returned = Math.max(0, Math.min(range.limit, total - range.startLine + 1));
  const end = returned === 0 ? null : range.startLine + returned - 1;
  const hasMore = end !== null && end < total;
  return {
    start_line: range.startLine,
    limit: range.limit,
    total_lines: total,
    returned_lines: returned,
    end_line: end,
    has_more: hasMore,
    next_start_line: hasMore ? end + 1 : null,
    sha256: file.sha256,
    // One snapshot, one number: the first 48 bits of what was read.
    read_revision: Number.parseInt((file.sha256 as string).slice(0, 12), 16) || 1,
  };
}

/** How many leading items fit the answer's bound; an item is shown whole or not at all. */
function whatFits(served: readonly Served[]): number {
  let bytes = 0;
  for (const [index, item] of served.entries()) {
    bytes += item.ok ? utf8(item.text).length : 200;
    if (bytes > serverLimits.maxReadAnswerBytes && index > 0) return index;
  }
  return served.length;
}

function itemRow(
  item: Served,
  options: { readonly index: number; readonly numbered: boolean },
): Record<string, unknown> {
  const { index, numbered } = options;
  if (!item.ok) {
    const output = { error_kind: "read_file_failed", reason_code: item.reason, path: item.path, state_changed: false };
    return { index, path: item.path, success: false, output, error: `The file was not read: ${item.reason}.` };
  }
  const text = numbered ? withNumbers(item.text, item.output.start_line as number) : item.text;
  const output = { text, format: numbered ? "numbered" : "plain", path: item.path, ...item.output };
  return { index, path: item.path, success: true, output, error: null };
}

function withNumbers(text: string, first: number): string {
  const ends = text.endsWith("\n");
  const lines = (ends ? text.slice(0, -1) : text).split("\n");
  return lines.map((line, at) => `${first + at}\t${line}`).join("\n") + (ends ? "\n" : "");
}
