// Goals: a plan of one authority that moves forward only. Each change names the exact revision it was made for, and
// a repeated call with the same key reads what the first one made.
import { newId } from "../contract/ids.ts";
import { type KeyedRequest, lookUpKey, rememberKey } from "./idempotency.ts";
import { serverLimits } from "./limits.ts";
import { pageOf, type RowPage } from "./row-page.ts";
import type { Moment } from "./sessions.ts";
import type { Database } from "./store.ts";

export type StepStatus = "pending" | "in_progress" | "completed";

export interface GoalPlan {
  readonly completion_conditions: readonly string[];
  readonly steps: ReadonlyArray<{ readonly id: string; readonly title: string; readonly status: StepStatus }>;
  readonly progress_summary: string | null;
  readonly checkpoint_at_unix_ms: number | null;
}

export interface GoalRow {
  readonly goal_id: string;
  readonly owner: string;
  readonly title: string;
  readonly objective: string;
  readonly lifecycle: "active" | "completed" | "cancelled";
  readonly revision: number;
  readonly plan: string;
  readonly controller_agent_id: string | null;
  readonly terminal_reason: string | null;
  readonly created_at_unix_ms: number;
  readonly updated_at_unix_ms: number;
  readonly terminal_at_unix_ms: number | null;
}

interface Correlation {
  readonly kind: "agent_task" | "workflow_session";
  readonly reference_id: string;
  readonly created_at_unix_ms: number;
}

export type GoalChange =
  | { readonly change: "made"; readonly goal: GoalRow; readonly created: boolean; readonly replayed: boolean }
  | { readonly change: "refused"; readonly kind: string; readonly currentRevision?: number };

export function goalOf(db: Database, owner: string, goalId: string): GoalRow | null {
  return db.query<GoalRow, [string, string]>("SELECT * FROM goals WHERE goal_id = ? AND owner = ?").get(goalId, owner);
}

export function planOf(row: GoalRow): GoalPlan {
  return JSON.parse(row.plan) as GoalPlan;
}

function correlationsOf(db: Database, goalId: string): Correlation[] {
  return db
    .query<Correlation, [string]>(
      "SELECT kind, reference_id, created_at_unix_ms FROM goal_correlations WHERE goal_id = ? ORDER BY created_at_unix_ms, kind, reference_id",
    )
    .all(goalId);
}

/** The row as lists show it. */
export function goalSummary(db: Database, row: GoalRow): Record<string, unknown> {
  const linked = correlationsOf(db, row.goal_id);
  return {
    goal_id: row.goal_id,
    title: row.title,
    lifecycle: row.lifecycle,
    revision: row.revision,
    created_at_unix_ms: row.created_at_unix_ms,
    updated_at_unix_ms: row.updated_at_unix_ms,
    terminal_at_unix_ms: row.terminal_at_unix_ms,
    agent_task_count: linked.filter((one) => one.kind === "agent_task").length,
    workflow_session_count: linked.filter((one) => one.kind === "workflow_session").length,
  };
}

export function goalDetail(db: Database, row: GoalRow): Record<string, unknown> {
  return {
    summary: goalSummary(db, row),
    plan: planOf(row),
    objective: row.objective,
    controller_agent_id: row.controller_agent_id,
    terminal_reason: row.terminal_reason,
    correlations: correlationsOf(db, row.goal_id),
  };
}

export function listGoalRows(
  db: Database,
  owner: string,
  page: { readonly lifecycle: string | null; readonly offset: number; readonly limit: number },
): RowPage<GoalRow> {
  return pageOf<GoalRow>(db, {
    from: "FROM goals WHERE owner = ?1 AND (?2 IS NULL OR lifecycle = ?2)",
    order: "updated_at_unix_ms DESC, goal_id",
    bound: [owner, page.lifecycle],
    offset: page.offset,
    limit: page.limit,
  });
}

export interface NewGoal {
  readonly title: string;
  readonly objective: string;
  readonly completion_conditions: readonly string[];
  readonly steps: ReadonlyArray<{ readonly id: string; readonly title: string }>;
  readonly controller_agent_id: string | null;
}

export function createGoal(
  db: Database,
  owner: string,
  options: { readonly wanted: NewGoal; readonly key: string; readonly moment: Moment },
): GoalChange {
  const { wanted, key, moment } = options;
  const keyed = { owner, operation: "create_goal", key, request: wanted };
  const before = changedBefore(db, keyed);
  if (before !== null) return before;
  const total = db.query<{ n: number }, []>("SELECT count(*) AS n FROM goals").get()?.n ?? 0;
  if (total >= serverLimits.maxGoals) return { change: "refused", kind: "goal_capacity" };
  const id = newId("goal", moment.random);
  const plan: GoalPlan = {
    completion_conditions: wanted.completion_conditions,
    steps: wanted.steps.map((step) => ({ ...step, status: "pending" })),
    progress_summary: null,
    checkpoint_at_unix_ms: null,
  };
  db.query(
    `INSERT INTO goals (goal_id, owner, title, objective, lifecycle, revision, plan, controller_agent_id, terminal_reason,
       created_at_unix_ms, updated_at_unix_ms, terminal_at_unix_ms) VALUES (?, ?, ?, ?, 'active', 1, ?, ?, NULL, ?, ?, NULL)`,
  ).run(
    id,
    owner,
    wanted.title,
    wanted.objective,
    JSON.stringify(plan),
    wanted.controller_agent_id,
    moment.wallMs,
    moment.wallMs,
  );
  rememberKey(db, keyed, { resource: id, wallMs: moment.wallMs });
  return made(goalOf(db, owner, id), { created: true, replayed: false });
}

/** What the key's first call made, or the conflict; null when the key is new. */
function changedBefore(db: Database, keyed: KeyedRequest): GoalChange | null {
  const seen = lookUpKey(db, keyed);
  if (seen.seen === "conflict") return { change: "refused", kind: "communication_idempotency_conflict" };
  if (seen.seen === "replay") return made(goalOf(db, keyed.owner, seen.resource), { created: false, replayed: true });
  return null;
}

function made(row: GoalRow | null, how: { readonly created: boolean; readonly replayed: boolean }): GoalChange {
  return row === null ? { change: "refused", kind: "goal_not_found" } : { change: "made", goal: row, ...how };
}

/** What a fenced change wants to write; null for a key keeps it. */
export interface GoalPatch {
  readonly plan?: GoalPlan;
  readonly title?: string;
  readonly objective?: string;
  readonly lifecycle?: "completed" | "cancelled";
  readonly terminalReason?: string;
}

export interface FencedChange {
  readonly goalId: string;
  readonly expectedRevision: number;
  readonly operation: string;
  readonly key: string;
  readonly request: unknown;
  readonly moment: Moment;
  /** From the current row to what is written, or the kind of a refusal. */
  readonly decide: (row: GoalRow) => GoalPatch | string;
}

/** One change under its key and the exact revision; an exact replay is read-only. */
export function changeGoal(db: Database, owner: string, change: FencedChange): GoalChange {
  const keyed = { owner, operation: change.operation, key: change.key, request: change.request };
  const before = changedBefore(db, keyed);
  if (before !== null) return before;
  const row = goalOf(db, owner, change.goalId);
  if (row === null) return { change: "refused", kind: "goal_not_found" };
  if (row.lifecycle !== "active") return { change: "refused", kind: "goal_terminal" };
  if (row.revision !== change.expectedRevision)
    return { change: "refused", kind: "goal_revision_changed", currentRevision: row.revision };
  const patch = change.decide(row);
  if (typeof patch === "string") return { change: "refused", kind: patch };
  const now = change.moment.wallMs;
  db.query(
    `UPDATE goals SET title = ?, objective = ?, plan = ?, lifecycle = ?, terminal_reason = ?, terminal_at_unix_ms = ?,
       revision = revision + 1, updated_at_unix_ms = ? WHERE goal_id = ?`,
  ).run(
    patch.title ?? row.title,
    patch.objective ?? row.objective,
    JSON.stringify(patch.plan ?? planOf(row)),
    patch.lifecycle ?? "active",
    patch.terminalReason ?? null,
    patch.lifecycle === undefined ? null : now,
    now,
    row.goal_id,
  );
  rememberKey(db, keyed, { resource: row.goal_id, wallMs: now });
  return made(goalOf(db, owner, row.goal_id), { created: false, replayed: false });
}

/** Ties a Goal to a Session; tying it again changes nothing. */
export function associateSession(
  db: Database,
  row: GoalRow,
  tie: { readonly sessionId: string; readonly wallMs: number },
): "tied" | "already" | "full" {
  const linked = correlationsOf(db, row.goal_id);
  if (linked.some((one) => one.kind === "workflow_session" && one.reference_id === tie.sessionId)) return "already";
  if (linked.length >= serverLimits.maxCorrelations) return "full";
  db.query(
    "INSERT INTO goal_correlations (goal_id, kind, reference_id, created_at_unix_ms) VALUES (?, 'workflow_session', ?, ?)",
  ).run(row.goal_id, tie.sessionId, tie.wallMs);
  db.query("UPDATE goals SET revision = revision + 1, updated_at_unix_ms = ? WHERE goal_id = ?").run(
    tie.wallMs,
    row.goal_id,
  );
  return "tied";
}

/** The active Goals tied to a Session, oldest first. */
export function activeGoalsOf(db: Database, owner: string, sessionId: string): GoalRow[] {
  return db
    .query<GoalRow, [string, string]>(
      `SELECT g.* FROM goals g JOIN goal_correlations c ON c.goal_id = g.goal_id
       WHERE c.kind = 'workflow_session' AND c.reference_id = ? AND g.owner = ? AND g.lifecycle = 'active'
       ORDER BY g.created_at_unix_ms, g.goal_id`,
    )
    .all(sessionId, owner);
}
