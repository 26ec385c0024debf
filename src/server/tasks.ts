// Durable agents, tasks and attempts as rows, and how they read on the wire. A lease that has run out is read as
// expired at once; a task with an unresolved coding run is never given out again.
import { attemptLeaseMs, executionOf } from "../contract/tasks.ts";
import { bindingBlocks, bindingOf } from "./run-bindings.ts";
import type { Database } from "./store.ts";

export interface AgentRow {
  readonly agent_id: string;
  readonly owner: string;
  readonly handle: string;
  readonly display_name: string;
  readonly description: string;
  readonly specialty_labels: string;
  readonly created_at_unix_ms: number;
}

export interface TaskRow {
  readonly task_id: string;
  readonly owner: string;
  readonly assignee_agent_id: string | null;
  readonly title: string;
  readonly instruction: string;
  readonly source_conversation_id: string | null;
  readonly source_message_id: string | null;
  readonly referenced_project_id: string | null;
  readonly state: "ready" | "active" | "succeeded" | "failed";
  readonly created_at_unix_ms: number;
  readonly updated_at_unix_ms: number;
  readonly terminal_at_unix_ms: number | null;
}

export interface AttemptRow {
  readonly attempt_id: string;
  readonly task_id: string;
  readonly attempt_number: number;
  readonly assignee_agent_id: string;
  readonly fence: string;
  readonly state: "active" | "succeeded" | "failed" | "expired";
  readonly lease_expires_at_unix_ms: number;
  readonly generation: number;
  readonly created_at_unix_ms: number;
  readonly terminal_at_unix_ms: number | null;
  readonly terminal_result: string | null;
  readonly terminal_reason: string | null;
}

export function taskOf(db: Database, owner: string, taskId: string): TaskRow | null {
  return db
    .query<TaskRow, [string, string]>("SELECT * FROM agent_tasks WHERE task_id = ? AND owner = ?")
    .get(taskId, owner);
}

export function agentOf(db: Database, owner: string, agentId: string): AgentRow | null {
  return db
    .query<AgentRow, [string, string]>("SELECT * FROM agent_identities WHERE agent_id = ? AND owner = ?")
    .get(agentId, owner);
}

export function latestAttempt(db: Database, taskId: string): AttemptRow | null {
  return db
    .query<AttemptRow, [string]>(
      "SELECT * FROM agent_task_attempts WHERE task_id = ? ORDER BY attempt_number DESC LIMIT 1",
    )
    .get(taskId);
}

export function attemptOf(db: Database, attemptId: string): AttemptRow | null {
  return db.query<AttemptRow, [string]>("SELECT * FROM agent_task_attempts WHERE attempt_id = ?").get(attemptId);
}

export function leaseIsLive(attempt: AttemptRow, nowMs: number): boolean {
  return attempt.state === "active" && attempt.lease_expires_at_unix_ms > nowMs;
}

export function agentWire(row: AgentRow): Record<string, unknown> {
  return {
    agent_id: row.agent_id,
    handle: row.handle,
    display_name: row.display_name,
    description: row.description,
    specialty_labels: JSON.parse(row.specialty_labels),
    profile_revision: 1,
    created_at_unix_ms: row.created_at_unix_ms,
    updated_at_unix_ms: row.created_at_unix_ms,
    current_controller_generation: 0,
    active_endpoint_count: 0,
    queued_delivery_count: 0,
    unresolved_wake_count: 0,
    latest_wake_id: null,
    latest_wake_state: null,
  };
}

export function attemptWire(row: AttemptRow, nowMs: number): Record<string, unknown> {
  const live = leaseIsLive(row, nowMs);
  return {
    attempt_id: row.attempt_id,
    task_id: row.task_id,
    attempt_number: row.attempt_number,
    assignee_agent_id: row.assignee_agent_id,
    state: row.state === "active" && !live ? "expired" : row.state,
    lease_expires_at_unix_ms: row.lease_expires_at_unix_ms,
    lease_active: live,
    attempt_controller_generation: row.generation,
    created_at_unix_ms: row.created_at_unix_ms,
    started_at_unix_ms: row.created_at_unix_ms,
    terminal_at_unix_ms: row.terminal_at_unix_ms,
    terminal_result: row.terminal_result,
    terminal_reason: row.terminal_reason,
  };
}

/** The task as lists show it; `attempt_ref` only while the latest attempt's lease is live. */
export function taskSummary(
  db: Database,
  row: TaskRow,
  options: { readonly nowMs: number; readonly withRef: boolean },
): Record<string, unknown> {
  const attempt = latestAttempt(db, row.task_id);
  const binding = attempt === null ? null : bindingOf(db, attempt.attempt_id);
  const live = attempt !== null && leaseIsLive(attempt, options.nowMs);
  const execution = binding === null ? null : executionOf(binding.dispatch_state, binding.run_state);
  const state = row.state === "active" && !live && !bindingBlocks(binding) ? "ready" : row.state;
  return {
    task_id: row.task_id,
    assignee_agent_id: row.assignee_agent_id,
    title: row.title,
    source_conversation_id: row.source_conversation_id,
    source_message_id: row.source_message_id,
    referenced_project_id: row.referenced_project_id,
    state,
    created_at_unix_ms: row.created_at_unix_ms,
    updated_at_unix_ms: row.updated_at_unix_ms,
    terminal_at_unix_ms: row.terminal_at_unix_ms,
    latest_attempt: attempt === null ? null : attemptWire(attempt, options.nowMs),
    execution_bound: binding !== null,
    execution_kind: binding === null ? null : "coding_agent_run",
    execution_status: execution?.status ?? null,
    recovery_kind: execution?.recovery ?? "none",
    ...(live && options.withRef ? { attempt_ref: refOf(db, row.owner, attempt) } : {}),
  };
}

/** The short name of one exact attempt; the same attempt has one name for ever. */
function refOf(db: Database, owner: string, attempt: AttemptRow): string {
  const found = db
    .query<{ number: number }, [string, string, number]>(
      "SELECT number FROM agent_task_attempt_references WHERE owner = ? AND attempt_id = ? AND generation = ?",
    )
    .get(owner, attempt.attempt_id, attempt.generation);
  return `~ta${found?.number ?? 0}`;
}

export function insertAttempt(
  db: Database,
  task: TaskRow,
  made: { readonly attemptId: string; readonly fence: string; readonly assignee: string; readonly nowMs: number },
): void {
  const number = (latestAttempt(db, task.task_id)?.attempt_number ?? 0) + 1;
  expireAttempts(db, task.task_id);
  db.query(
    `INSERT INTO agent_task_attempts (attempt_id, task_id, attempt_number, assignee_agent_id, fence, state,
      lease_expires_at_unix_ms, generation, created_at_unix_ms) VALUES (?, ?, ?, ?, ?, 'active', ?, 1, ?)`,
  ).run(made.attemptId, task.task_id, number, made.assignee, made.fence, made.nowMs + attemptLeaseMs, made.nowMs);
  db.query(
    `INSERT INTO agent_task_attempt_references (owner, number, attempt_id, generation)
      SELECT ?, coalesce(max(number), 0) + 1, ?, 1 FROM agent_task_attempt_references WHERE owner = ?`,
  ).run(task.owner, made.attemptId, task.owner);
  db.query("UPDATE agent_tasks SET state = 'active', updated_at_unix_ms = ? WHERE task_id = ?").run(
    made.nowMs,
    task.task_id,
  );
}

/** Writes down that a lease ran out; readers know it already. */
export function expireAttempts(db: Database, taskId: string): void {
  db.query("UPDATE agent_task_attempts SET state = 'expired' WHERE task_id = ? AND state = 'active'").run(taskId);
}

/** Ends an attempt, and with it the task when it is the latest one. */
export function endAttempt(
  db: Database,
  attempt: Pick<AttemptRow, "attempt_id" | "task_id">,
  end: {
    readonly outcome: "succeeded" | "failed";
    readonly result: string | null;
    readonly reason: string | null;
    readonly nowMs: number;
  },
): void {
  const { outcome, result, reason, nowMs } = end;
  db.query(
    "UPDATE agent_task_attempts SET state = ?, terminal_at_unix_ms = ?, terminal_result = ?, terminal_reason = ? WHERE attempt_id = ?",
  ).run(outcome, nowMs, result, reason, attempt.attempt_id);
  if (latestAttempt(db, attempt.task_id)?.attempt_id !== attempt.attempt_id) return;
  db.query("UPDATE agent_tasks SET state = ?, updated_at_unix_ms = ?, terminal_at_unix_ms = ? WHERE task_id = ?").run(
    outcome,
    nowMs,
    nowMs,
    attempt.task_id,
  );
}
