// The durable tie of an attempt to its coding run: what was asked for, what was last seen of it, and whether it still
// stands in the way of anybody else's work on the task.
import type { ExecutionState, RunSnapshot, RunState, RunTerminal } from "../contract/runs.ts";
import { type DispatchState, executionOf } from "../contract/tasks.ts";
import { serverLimits } from "./limits.ts";
import type { Database } from "./store.ts";

export interface BindingRow {
  readonly run_id: string;
  readonly attempt_id: string;
  readonly task_id: string;
  readonly project: string;
  readonly provider_id: string;
  readonly provider_instance_id: string;
  readonly intent_fingerprint: string;
  readonly authority_fingerprint: string;
  readonly dispatch_state: DispatchState;
  readonly run_state: RunState | null;
  readonly execution_state: ExecutionState | null;
  readonly revision: number;
  readonly terminal: string | null;
}

export function bindingOf(db: Database, attemptId: string): BindingRow | null {
  return db.query<BindingRow, [string]>("SELECT * FROM agent_task_coding_runs WHERE attempt_id = ?").get(attemptId);
}

/** True when the run of an attempt may still act, so that no other attempt may start. */
export function bindingBlocks(binding: BindingRow | null): boolean {
  return binding?.dispatch_state === "bound" || binding?.dispatch_state === "outcome_unknown";
}

/** Every binding of this owner's tasks, with the time it was made. */
export function boundRunsOf(db: Database, owner: string): Array<BindingRow & { readonly created_at_unix_ms: number }> {
  return db
    .query<BindingRow & { readonly created_at_unix_ms: number }, [string, number]>(
      `SELECT r.* FROM agent_task_coding_runs r JOIN agent_tasks t ON t.task_id = r.task_id
       WHERE t.owner = ? ORDER BY r.created_at_unix_ms DESC LIMIT ?`,
    )
    .all(owner, serverLimits.consoleRuns + 1);
}

/** Why a task is not free, in the words of a refusal. */
export function blockingKind(binding: BindingRow | null): string {
  return binding?.dispatch_state === "bound" ? "agent_task_execution_active" : "agent_task_execution_outcome_unknown";
}

/** Writes what was observed of the run into its binding. */
export function recordObservation(db: Database, run: RunSnapshot): void {
  const uncertain = run.state === "lost" || run.execution_state === "outcome_unknown";
  db.query(
    `UPDATE agent_task_coding_runs SET dispatch_state = ?, run_state = ?, execution_state = ?, revision = ?, terminal = ?
      WHERE run_id = ? AND dispatch_state <> 'terminal' AND revision <= ?`,
  ).run(
    uncertain ? "outcome_unknown" : "bound",
    run.state,
    run.execution_state,
    run.observation_revision,
    run.terminal == null ? null : JSON.stringify(run.terminal),
    run.run_id,
    run.observation_revision,
  );
}

/** The binding as start and reconcile answer it. */
export function bindingWire(row: BindingRow): Record<string, unknown> {
  const execution = executionOf(row.dispatch_state, row.run_state);
  const terminal = row.terminal === null ? null : (JSON.parse(row.terminal) as RunTerminal);
  return {
    task_id: row.task_id,
    attempt_id: row.attempt_id,
    run_id: row.run_id,
    project: row.project,
    provider_id: row.provider_id,
    dispatch_state: row.dispatch_state,
    run_state: row.run_state,
    execution_state: row.execution_state,
    execution_status: execution.status,
    execution_recovery: execution.recovery,
    terminal: {
      stop_reason: terminal?.stop_reason ?? null,
      error_code: terminal?.error_code ?? null,
      message: terminal?.message ?? null,
      completed_at: terminal?.completed_at ?? null,
    },
  };
}
