// The inventories an operator's adapter and the console page pick from: projects, Sessions and runs. They list what the caller may know
// and say when something is left out; nothing is chosen, opened or recorded here.
import type { RunTerminal } from "../contract/runs.ts";
import { z } from "../contract/schema.ts";
import { serverLimits } from "./limits.ts";
import { json, refusal } from "./refusal.ts";
import { boundRunsOf } from "./run-bindings.ts";
import { visibleRuns } from "./run-dispatch.ts";
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
    runs: z.strictObject({ limit: z.int().min(1).max(serverLimits.consoleRuns).optional() }),
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

/** POST /api/runtime-console/runs: the caller's runs, newest first, with what is known of each now. */
export async function consoleRuns(body: unknown, context: ToolContext): Promise<Response> {
  shapes ??= buildShapes();
  const parsed = shapes.runs.safeParse(body);
  if (!parsed.success) return refusal(400, "invalid run query");
  const { limit = serverLimits.consoleRuns } = parsed.data;
  const live = visibleRuns(context);
  const bound = await context.store.read((db) => boundRunsOf(db, context.principal.owner));
  const known = new Set(bound.map((row) => row.run_id));
  const rows = [
    ...live.filter((run) => !known.has(run.run_id)).map((run) => ({ row: null, run, at: run.created_at * 1000 })),
    ...bound.map((row) => ({
      row,
      run: live.find((one) => one.run_id === row.run_id) ?? null,
      at: row.created_at_unix_ms,
    })),
  ].sort((left, right) => right.at - left.at);
  const runs = rows.slice(0, limit).map(({ row, run }) => {
    const end = run?.terminal ?? (row?.terminal == null ? null : (JSON.parse(row.terminal) as RunTerminal));
    return {
      run_id: (run ?? row)!.run_id,
      task_id: row?.task_id ?? null,
      project: run?.runtime_project_id ?? row?.project,
      provider_id: (run ?? row)!.provider_id,
      dispatch_state: row?.dispatch_state ?? null,
      state: run?.state ?? row?.run_state ?? null,
      execution_state: run?.execution_state ?? row?.execution_state ?? null,
      stop_reason: end?.stop_reason ?? null,
      error_code: end?.error_code ?? null,
      live: run !== null,
    };
  });
  return json(200, { runs, truncated: rows.length > runs.length });
}
