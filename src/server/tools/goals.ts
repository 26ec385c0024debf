// The Goal tools: read, make, check off, end, and tie to a Session. Nothing an adapter reports moves a Goal.
import { z } from "../../contract/schema.ts";
import {
  associateSession,
  changeGoal,
  createGoal,
  type GoalChange,
  type GoalPlan,
  goalDetail,
  goalOf,
  goalSummary,
  listGoalRows,
  planOf,
} from "../goals.ts";
import { serverLimits } from "../limits.ts";
import { pageAnswer } from "../row-page.ts";
import { momentOf, sessionOf, unknownSession } from "../sessions.ts";
import type { Database } from "../store.ts";
import { defineTool, refuse, succeed, type Tool, type ToolResult } from "../tool.ts";

const read = ["communication:read"] as const;
const manage = ["communication:read", "communication:manage"] as const;

const title = () => z.string().trim().min(1).max(200);
const objective = () => z.string().refine((text) => text.trim() !== "" && Buffer.byteLength(text) <= 8192);
const key = () => z.string().trim().min(1).max(serverLimits.maxIdempotencyKeyChars);
const stepId = () => z.string().regex(/^[A-Za-z0-9_.-]{1,32}$/);
const goalId = () => z.string().min(1).max(128);

function answer(db: Database, change: GoalChange): ToolResult {
  if (change.change === "refused") {
    const more = change.currentRevision === undefined ? {} : { current_revision: change.currentRevision };
    const recovery =
      change.kind === "goal_capacity"
        ? "user_action"
        : change.kind === "goal_revision_changed"
          ? "reobserve"
          : "fix_input";
    return refuse(change.kind, "The goal was not changed.", { ...more, recovery_kind: recovery });
  }
  const { goal, created, replayed } = change;
  return succeed({ goal: goalDetail(db, goal), created, replayed, state_changed: !replayed });
}

const listGoals = defineTool({
  name: "list_goals",
  description: "List the caller's goals, most recently changed first.",
  scopes: read,
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () =>
    z.strictObject({
      lifecycle: z.string().max(32).optional(),
      offset: z.int().min(0).optional(),
      limit: z.int().min(1).optional(),
    }),
  async run(context, args) {
    const { lifecycle } = args;
    if (lifecycle !== undefined && !["active", "completed", "cancelled"].includes(lifecycle))
      return refuse("invalid_goal_lifecycle", "No such lifecycle.", { recovery_kind: "fix_input" });
    const offset = args.offset ?? 0;
    const limit = Math.min(args.limit ?? 50, serverLimits.goalPage);
    return context.store.read((db) => {
      const page = listGoalRows(db, context.principal.owner, { lifecycle: lifecycle ?? null, offset, limit });
      return pageAnswer(page, "goals", (row) => goalSummary(db, row));
    });
  },
});

const getGoal = defineTool({
  name: "get_goal",
  description: "Read one goal with its plan.",
  scopes: read,
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () => z.strictObject({ goal_id: goalId() }),
  run: (context, args) =>
    context.store.read((db) => {
      const row = goalOf(db, context.principal.owner, args.goal_id);
      if (row === null) return refuse("goal_not_found", "No such goal.", { recovery_kind: "fix_input" });
      return succeed({ goal: goalDetail(db, row) });
    }),
});

const create = defineTool({
  name: "create_goal",
  description: "Make a goal with its plan.",
  scopes: manage,
  visibility: "gateway",
  input: () =>
    z.strictObject({
      title: title(),
      objective: objective(),
      completion_conditions: z.array(z.string().min(1).max(1024)).max(serverLimits.maxGoalConditions).default([]),
      steps: z
        .array(z.strictObject({ id: stepId(), title: title() }))
        .max(serverLimits.maxGoalSteps)
        .refine((steps) => new Set(steps.map((step) => step.id)).size === steps.length)
        .default([]),
      controller_agent_id: z.string().max(128).nullish(),
      idempotency_key: key(),
    }),
  run: (context, args) =>
    context.store.write((db) => {
      const { idempotency_key, controller_agent_id, ...rest } = args;
      const wanted = { ...rest, controller_agent_id: controller_agent_id ?? null };
      return answer(
        db,
        createGoal(db, context.principal.owner, { wanted, key: idempotency_key, moment: momentOf(context) }),
      );
    }),
});

const checkpoint = defineTool({
  name: "checkpoint_goal",
  description: "Complete steps of a goal, set the current one and save a short summary.",
  scopes: manage,
  visibility: "gateway",
  input: () =>
    z.strictObject({
      goal_id: goalId(),
      expected_revision: z.int().min(1),
      completed_step_ids: z.array(stepId()).max(serverLimits.maxGoalSteps).default([]),
      current_step_id: stepId().nullish(),
      progress_summary: z.string().max(2048).nullish(),
      idempotency_key: key(),
    }),
  run: (context, args) =>
    context.store.write((db) => {
      const { idempotency_key, ...request } = args;
      const moment = momentOf(context);
      const done = changeGoal(db, context.principal.owner, {
        goalId: args.goal_id,
        expectedRevision: args.expected_revision,
        operation: "checkpoint_goal",
        key: idempotency_key,
        request,
        moment,
        decide: (row) => checkpointed(planOf(row), { ...args, atMs: moment.wallMs }),
      });
      return answer(db, done);
    }),
});

/** The plan after a checkpoint: completed steps never go back, at most one step is in progress. */
function checkpointed(
  plan: GoalPlan,
  args: {
    readonly completed_step_ids: readonly string[];
    readonly current_step_id?: string | null | undefined;
    readonly progress_summary?: string | null | undefined;
    readonly atMs: number;
  },
): { readonly plan: GoalPlan } | string {
  const known = new Set(plan.steps.map((step) => step.id));
  const completed = new Set(args.completed_step_ids);
  const current = args.current_step_id ?? null;
  if ([...completed].some((id) => !known.has(id)) || (current !== null && !known.has(current)))
    return "goal_step_not_found";
  for (const step of plan.steps) if (step.status === "completed") completed.add(step.id);
  if (current !== null && completed.has(current)) return "goal_step_completed";
  const steps = plan.steps.map((step) => {
    if (completed.has(step.id)) return { ...step, status: "completed" as const };
    if (current === null) return step;
    return { ...step, status: step.id === current ? ("in_progress" as const) : ("pending" as const) };
  });
  return {
    plan: {
      ...plan,
      steps,
      progress_summary: args.progress_summary === undefined ? plan.progress_summary : args.progress_summary,
      checkpoint_at_unix_ms: args.atMs,
    },
  };
}

const update = defineTool({
  name: "update_goal",
  description: "Change a goal's title or objective, or end it.",
  scopes: manage,
  visibility: "gateway",
  input: () =>
    z.strictObject({
      goal_id: goalId(),
      expected_revision: z.int().min(1),
      title: title().optional(),
      objective: objective().optional(),
      lifecycle: z.enum(["completed", "cancelled"]).optional(),
      terminal_reason: z
        .string()
        .refine((text) => Buffer.byteLength(text) <= 4096)
        .optional(),
      idempotency_key: key(),
    }),
  run: (context, args) =>
    context.store.write((db) => {
      const { idempotency_key, ...request } = args;
      const done = changeGoal(db, context.principal.owner, {
        goalId: args.goal_id,
        expectedRevision: args.expected_revision,
        operation: "update_goal",
        key: idempotency_key,
        request,
        moment: momentOf(context),
        decide(row) {
          const open = planOf(row).steps.some((step) => step.status !== "completed");
          if (args.lifecycle === "completed" && open) return "goal_steps_incomplete";
          return {
            ...(args.title === undefined ? {} : { title: args.title }),
            ...(args.objective === undefined ? {} : { objective: args.objective }),
            ...(args.lifecycle === undefined ? {} : { lifecycle: args.lifecycle }),
            ...(args.terminal_reason === undefined ? {} : { terminalReason: args.terminal_reason }),
          };
        },
      });
      return answer(db, done);
    }),
});

const associate = defineTool({
  name: "associate_goal_session",
  description: "Tie a goal to a session, so that the session's hand-off shows it.",
  scopes: [...manage, "session:collaborate"],
  visibility: "gateway",
  input: () => z.strictObject({ goal_id: goalId(), session_id: z.string().min(1).max(128) }),
  run: (context, args) =>
    context.store.write((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null) return unknownSession();
      const row = goalOf(db, context.principal.owner, args.goal_id);
      if (row === null) return refuse("goal_not_found", "No such goal.", { recovery_kind: "fix_input" });
      if (row.lifecycle !== "active") return refuse("goal_terminal", "The goal has ended.", { recovery_kind: "none" });
      const tied = associateSession(db, row, { sessionId: session.session_id, wallMs: context.clock.wallMs() });
      if (tied === "full")
        return refuse("goal_correlation_capacity", "The goal is tied to as much as it can be.", {
          recovery_kind: "user_action",
        });
      const goal = goalDetail(db, goalOf(db, context.principal.owner, args.goal_id)!);
      return succeed({ goal, replayed: tied === "already", state_changed: tied === "tied" });
    }),
});

export const goalTools: readonly Tool[] = [listGoals, getGoal, create, checkpoint, update, associate];
