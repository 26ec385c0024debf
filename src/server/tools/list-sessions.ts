// list_sessions: the caller's Sessions of one project, twenty a page, closed ones included.
import { z } from "../../contract/schema.ts";
import { serverLimits } from "../limits.ts";
import { excerptOf } from "../redaction.ts";
import { visibleProject } from "../runner-registry.ts";
import { listSessionRows, type SessionRow } from "../sessions.ts";
import { defineTool, refuse, succeed } from "../tool.ts";

/** One Session as lists show it. */
export function sessionSummary(row: SessionRow): Record<string, unknown> {
  const title = excerptOf(row.title, serverLimits.maxTitleChars);
  return {
    session_id: row.session_id,
    session_ref: `~s${row.number}`,
    project: row.project,
    title: title.excerpt,
    title_truncated: title.truncated,
    mode: row.mode,
    lifecycle: row.lifecycle,
    created_at: Math.floor(row.created_at / 1000),
    updated_at: Math.floor(row.updated_at / 1000),
  };
}

export const listSessions = defineTool({
  name: "list_sessions",
  description: "List the caller's sessions of a project, most recently changed first.",
  scopes: ["runtime:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () =>
    z.strictObject({
      project: z.string().min(1).max(1024),
      lifecycle: z.enum(["active", "closed"]).optional(),
      offset: z.int().min(0).optional(),
      limit: z.int().min(0).optional(),
    }),
  async run(context, args) {
    const offset = args.offset ?? 0;
    const limit = Math.min(Math.max(args.limit ?? serverLimits.sessionPage, 1), serverLimits.sessionPage);
    const page = await context.store.read((db) =>
      listSessionRows(db, context.principal, {
        project: args.project,
        lifecycle: args.lifecycle ?? null,
        offset,
        limit,
      }),
    );
    // Without the Runner the project is still the caller's when Sessions of it are.
    if (page.total === 0 && visibleProject(context.runners, context.principal, args.project) === null)
      return refuse("project_not_found", "No such project.", { recovery_kind: "reobserve" });
    const next = offset + page.rows.length < page.total ? offset + page.rows.length : null;
    return succeed({
      project: args.project,
      total: page.total,
      sessions: page.rows.map(sessionSummary),
      next_offset: next,
      truncated: next !== null,
    });
  },
});
