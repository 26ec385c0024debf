// Which attempt a caller may act for: named by its short reference or by the whole tuple, never by both, and only
// while it is the latest attempt of an unfinished task and its lease is live.
import { z } from "../contract/schema.ts";
import type { Database } from "./store.ts";
import { type AttemptRow, attemptOf, latestAttempt, leaseIsLive, type TaskRow, taskOf } from "./tasks.ts";
import { refuse, type ToolContext, type ToolResult } from "./tool.ts";

/** The arguments that name an attempt. */
export function selectorShape() {
  return {
    attempt_ref: z.string().max(64).optional(),
    task_id: z.string().max(128).optional(),
    attempt_id: z.string().max(128).optional(),
    assignee_agent_id: z.string().max(128).optional(),
    attempt_fence: z.string().max(128).optional(),
    attempt_controller_generation: z.int().min(1).optional(),
  };
}

export interface Selector {
  readonly attempt_ref?: string | undefined;
  readonly task_id?: string | undefined;
  readonly attempt_id?: string | undefined;
  readonly assignee_agent_id?: string | undefined;
  readonly attempt_fence?: string | undefined;
  readonly attempt_controller_generation?: number | undefined;
}

export type Selected = { readonly kind: string } | { readonly attempt: AttemptRow; readonly task: TaskRow };

/** The attempt with its task, or the kind of the refusal. */
export function selectAttempt(db: Database, context: ToolContext, by: Selector): Selected {
  const named = by.attempt_ref === undefined ? namedByTuple(db, by) : namedByRef(db, context, by);
  if (named !== null && "kind" in named) return named;
  const task = named === null ? null : taskOf(db, context.principal.owner, named.task_id);
  if (named === null || task === null) return { kind: "agent_task_attempt_stale" };
  if (by.attempt_ref === undefined) {
    if (by.assignee_agent_id !== named.assignee_agent_id) return { kind: "agent_task_assignee_mismatch" };
    const same =
      by.task_id === named.task_id &&
      by.attempt_fence === named.fence &&
      by.attempt_controller_generation === named.generation;
    if (!same) return { kind: "agent_task_attempt_stale" };
  }
  if (task.state === "succeeded" || task.state === "failed") return { kind: "agent_task_terminal" };
  const latest = latestAttempt(db, task.task_id)?.attempt_id === named.attempt_id;
  if (!latest || !leaseIsLive(named, context.clock.wallMs())) return { kind: "agent_task_attempt_stale" };
  return { attempt: named, task };
}

function tupleOf(by: Selector): readonly unknown[] {
  return [by.task_id, by.attempt_id, by.assignee_agent_id, by.attempt_fence, by.attempt_controller_generation];
}

function namedByTuple(db: Database, by: Selector): AttemptRow | { readonly kind: string } | null {
  if (tupleOf(by).includes(undefined)) return { kind: "incomplete_agent_task_attempt_selector" };
  return attemptOf(db, by.attempt_id!);
}

function namedByRef(db: Database, context: ToolContext, by: Selector): AttemptRow | { readonly kind: string } | null {
  if (tupleOf(by).some((one) => one !== undefined)) return { kind: "ambiguous_agent_task_attempt_selector" };
  const number = /^~ta([1-9][0-9]{0,15})$/.exec(by.attempt_ref!)?.[1];
  if (number === undefined) return { kind: "invalid_agent_task_attempt_ref" };
  const row = db
    .query<{ attempt_id: string }, [string, number]>(
      "SELECT attempt_id FROM agent_task_attempt_references WHERE owner = ? AND number = ?",
    )
    .get(context.principal.owner, Number(number));
  return row === null ? { kind: "unknown_agent_task_attempt_ref" } : attemptOf(db, row.attempt_id);
}

const recoveryOf: Readonly<Record<string, string>> = {
  agent_task_attempt_stale: "reconcile",
  agent_task_execution_active: "reconcile",
  agent_task_execution_outcome_unknown: "reconcile",
  agent_task_coding_run_binding_conflict: "reconcile",
  agent_task_assignee_mismatch: "reobserve",
  agent_task_attempt_active: "reobserve",
  agent_task_unassigned: "reobserve",
  agent_task_terminal: "reobserve",
  agent_task_not_found: "reobserve",
  coding_agent_runner_unavailable: "wait",
};

/** A refusal about a task, an attempt or its run, with what to do next. */
export function refuseTask(kind: string, more: Record<string, unknown> = {}): ToolResult {
  return refuse(kind, `The request was refused: ${kind}.`, {
    recovery_kind: recoveryOf[kind] ?? "fix_input",
    ...more,
  });
}
