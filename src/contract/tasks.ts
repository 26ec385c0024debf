// Durable tasks, attempts and bindings as they stand on the wire, and what a binding's states mean to its reader.
import type { RunState } from "./runs.ts";

export type DispatchState = "prepared" | "outcome_unknown" | "bound" | "not_started" | "terminal";
export type ExecutionStatus = "not_started" | "active" | "waiting_permission" | "outcome_unknown" | "terminal";
export type ExecutionRecovery = "none" | "observe" | "reconcile";

/** Milliseconds an attempt may act without a sign of life. */
export const attemptLeaseMs = 60_000;

/** What a reader of a binding should believe and do next. */
export function executionOf(
  dispatch: DispatchState,
  run: RunState | null,
): { readonly status: ExecutionStatus; readonly recovery: ExecutionRecovery } {
  if (dispatch === "prepared" || dispatch === "not_started") return { status: "not_started", recovery: "none" };
  if (dispatch === "outcome_unknown") return { status: "outcome_unknown", recovery: "reconcile" };
  if (dispatch === "terminal") return { status: "terminal", recovery: "none" };
  if (run === "waiting_permission") return { status: "waiting_permission", recovery: "observe" };
  if (run === "lost") return { status: "outcome_unknown", recovery: "reconcile" };
  if (run === "completed" || run === "failed" || run === "cancelled")
    return { status: "terminal", recovery: "reconcile" };
  return { status: "active", recovery: "observe" };
}
