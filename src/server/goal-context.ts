// What a hand-off says beside the brief about the Goals tied to its Session: one active Goal in full, several as
// candidates to choose from, none as nothing at all. And the advice whether the work looks ready for a reviewer.
import { activeGoalsOf, type GoalPlan, type GoalRow, planOf } from "./goals.ts";
import { cutBytes, excerptOf } from "./redaction.ts";
import type { Database } from "./store.ts";

interface Cut {
  readonly text: string;
  readonly truncated: boolean;
}

/** One clean line of at most `maxBytes` bytes. */
function cut(text: string, maxBytes: number): Cut {
  const line = excerptOf(text, maxBytes);
  const kept = cutBytes(line.excerpt ?? "", maxBytes);
  return { text: kept, truncated: line.truncated || kept !== line.excerpt };
}

/** The section, or null when the Session has no active Goal. */
export function goalContextOf(
  db: Database,
  session: { readonly owner: string; readonly session_id: string },
): Record<string, unknown> | null {
  const goals = activeGoalsOf(db, session.owner, session.session_id);
  const [only] = goals;
  if (only === undefined) return null;
  const single = goals.length === 1;
  return {
    version: 1,
    source: "explicit_workflow_session_correlation",
    status: single ? "available" : "selection_required",
    reason_code: single ? null : "multiple_active_goals",
    truncated: goals.length > 8,
    goal: single ? goalView(only) : null,
    candidates: single ? [] : goals.slice(0, 8).map(candidate),
  };
}

function candidate(row: GoalRow): Record<string, unknown> {
  const title = cut(row.title, 256);
  return {
    goal_id: row.goal_id,
    title: title.text,
    title_truncated: title.truncated,
    lifecycle: "active",
    revision: row.revision,
  };
}

function goalView(row: GoalRow): Record<string, unknown> {
  const objective = cut(row.objective, 1024);
  return {
    ...candidate(row),
    objective: { excerpt: objective.text, truncated: objective.truncated },
    plan: planView(planOf(row)),
  };
}

function planView(plan: GoalPlan): Record<string, unknown> {
  const conditions = plan.completion_conditions.slice(0, 8).map((text) => cut(text, 256));
  const steps = plan.steps.slice(0, 32).map((step) => {
    const title = cut(step.title, 128);
    return { id: step.id, title: title.text, title_truncated: title.truncated, status: step.status };
  });
  const summary = plan.progress_summary === null ? null : cut(plan.progress_summary, 512);
  return {
    completion_conditions: {
      ...counted(
        conditions.map((one) => one.text),
        plan.completion_conditions.length,
      ),
      content_truncated: conditions.some((one) => one.truncated),
    },
    steps: counted(steps, plan.steps.length),
    current_step_id: plan.steps.find((step) => step.status === "in_progress")?.id ?? null,
    checkpoint: {
      summary: { excerpt: summary?.text ?? null, truncated: summary?.truncated ?? false },
      at_unix_ms: plan.checkpoint_at_unix_ms,
    },
  };
}

function counted(items: readonly unknown[], total: number): Record<string, unknown> {
  return { items, total, returned: items.length, truncated: items.length < total };
}

/**
 * Advice, never a verdict: only for a Session with exactly one active Goal, and even the best state says that
 * nothing was validated here.
 */
export function acceptanceOf(
  db: Database,
  session: { readonly owner: string; readonly session_id: string },
  openRisks: number,
): Record<string, unknown> | null {
  const goals = activeGoalsOf(db, session.owner, session.session_id);
  const [goal] = goals;
  if (goal === undefined || goals.length > 1) return null;
  const { steps } = planOf(goal);
  const [state, reason] =
    openRisks > 0
      ? ["blocked", "open_risks"]
      : steps.length === 0
        ? ["unknown", "goal_without_steps"]
        : steps.some((step) => step.status !== "completed")
          ? ["not_ready", "goal_steps_incomplete"]
          : ["ready_for_review", "goal_steps_completed"];
  return {
    version: 1,
    state,
    reason_codes: [reason, "validation_unavailable"],
    evidence_refs: [
      { kind: "goal", id: goal.goal_id },
      { kind: "workflow_session", id: session.session_id },
    ],
    truncated: false,
    advisory: true,
  };
}
