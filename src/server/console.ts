// The two inventories an operator's adapter picks from: projects and Sessions. They list what the caller may know
// and say when something is left out; nothing is chosen, opened or recorded here.
import { z } from "../contract/schema.ts";
import { serverLimits } from "./limits.ts";
import { json, refusal } from "./refusal.ts";
import { visibleProjects } from "./runner-registry.ts";
import { listSessionRows } from "./sessions.ts";
import type { ToolContext } from "./tool.ts";
import { sessionSummary } from "./tools/list-sessions.ts";

let shapes: ReturnType<typeof buildShapes> | undefined;

function buildShapes() {
  return {
    projects: z.strictObject({
      query: z.string().min(1).max(serverLimits.maxPathChars).optional(),
      limit: z.int().min(1).max(serverLimits.consoleProjects).optional(),
    }),
    sessions: z.strictObject({
      project: z.string().min(1).max(1024),
      limit: z.int().min(1).max(serverLimits.consoleSessions).optional(),
    }),
  };
}

/** POST /api/runtime-console/projects: rows whose id, name or path holds `query`. */
export async function consoleProjects(body: unknown, context: ToolContext): Promise<Response> {
  shapes ??= buildShapes();
  const parsed = shapes.projects.safeParse(body);
  if (!parsed.success) return refusal(400, "invalid project query");
  const { query, limit = serverLimits.consoleProjects } = parsed.data;
  const found = visibleProjects(context.runners, context.principal).filter(
    (project) =>
      !project.disabled &&
      (query === undefined || [project.id, project.name ?? "", project.path].some((text) => text.includes(query))),
  );
  const projects = found.slice(0, limit).map((project) => ({
    id: project.id,
    client_id: project.clientId,
    name: project.name,
    path: project.path,
  }));
  return json(200, { projects, total: found.length, truncated: found.length > projects.length });
}

/** POST /api/runtime-console/workflow-sessions: the caller's own Sessions of one project, newest change first. */
export async function consoleSessions(body: unknown, context: ToolContext): Promise<Response> {
  shapes ??= buildShapes();
  const parsed = shapes.sessions.safeParse(body);
  if (!parsed.success) return refusal(400, "invalid session query");
  const { project, limit = serverLimits.consoleSessions } = parsed.data;
  const page = await context.store.read((db) =>
    listSessionRows(db, context.principal, { project, lifecycle: null, offset: 0, limit }),
  );
  const sessions = page.rows.map(sessionSummary);
  return json(200, { sessions, total: page.total, truncated: page.total > sessions.length });
}
