// The coding run of an attempt: bound durably before anything is sent, dispatched once however often it is asked
// for, and reconciled from what is known without asking the runner.
import { ConfigValues, isDefinitive } from "../../contract/runs.ts";
import { z } from "../../contract/schema.ts";
import { authorityOf, dispatchStart, intentOf, prepare, type RunIntent, visibleRun } from "../run-dispatch.ts";
import { runIdOf } from "../runs.ts";
import type { Database } from "../store.ts";
import {
  type AttemptRow,
  attemptOf,
  type BindingRow,
  bindingOf,
  bindingWire,
  latestAttempt,
  leaseIsLive,
  recordObservation,
  type TaskRow,
  taskOf,
} from "../tasks.ts";
import { defineTool, refuse, succeed, type ToolContext, type ToolResult } from "../tool.ts";

interface Selector {
  readonly attempt_ref?: string | undefined;
  readonly task_id?: string | undefined;
  readonly attempt_id?: string | undefined;
  readonly assignee_agent_id?: string | undefined;
  readonly attempt_fence?: string | undefined;
  readonly attempt_controller_generation?: number | undefined;
}

type Selected = { readonly kind: string } | { readonly attempt: AttemptRow; readonly task: TaskRow };

function select(db: Database, context: ToolContext, by: Selector): Selected {
  const { owner } = context.principal;
  const tuple = [by.task_id, by.attempt_id, by.assignee_agent_id, by.attempt_fence, by.attempt_controller_generation];
  const given = tuple.filter((one) => one !== undefined).length;
  if (by.attempt_ref !== undefined && given > 0) return { kind: "ambiguous_agent_task_attempt_selector" };
  if (by.attempt_ref === undefined && given < tuple.length) return { kind: "incomplete_agent_task_attempt_selector" };
  let attempt: AttemptRow | null;
  if (by.attempt_ref !== undefined) {
    if (!/^~ta[1-9][0-9]{0,15}$/.test(by.attempt_ref)) return { kind: "invalid_agent_task_attempt_ref" };
    const row = db
      .query<{ attempt_id: string }, [string, number]>(
        "SELECT attempt_id FROM agent_task_attempt_references WHERE owner = ? AND number = ?",
      )
      .get(owner, Number(by.attempt_ref.slice(3)));
    if (row === null) return { kind: "unknown_agent_task_attempt_ref" };
    attempt = attemptOf(db, row.attempt_id);
  } else attempt = attemptOf(db, by.attempt_id!);
  const task = attempt === null ? null : taskOf(db, owner, attempt.task_id);
  if (attempt === null || task === null) return { kind: "agent_task_attempt_stale" };
  if (by.attempt_ref === undefined) {
    if (by.assignee_agent_id !== attempt.assignee_agent_id) return { kind: "agent_task_assignee_mismatch" };
    const same =
      by.task_id === attempt.task_id &&
      by.attempt_fence === attempt.fence &&
      by.attempt_controller_generation === attempt.generation;
    if (!same) return { kind: "agent_task_attempt_stale" };
  }
  if (task.state === "succeeded" || task.state === "failed") return { kind: "agent_task_terminal" };
  const latest = latestAttempt(db, task.task_id)?.attempt_id === attempt.attempt_id;
  if (!latest || !leaseIsLive(attempt, context.clock.wallMs())) return { kind: "agent_task_attempt_stale" };
  return { attempt, task };
}

const recoveryOf: Readonly<Record<string, string>> = {
  agent_task_attempt_stale: "reconcile",
  agent_task_assignee_mismatch: "reobserve",
  agent_task_terminal: "reobserve",
  coding_agent_runner_unavailable: "wait",
  agent_task_coding_run_binding_conflict: "reconcile",
};

function refused(kind: string, more: Record<string, unknown> = {}): ToolResult {
  return refuse(kind, `The run was refused: ${kind}.`, { recovery_kind: recoveryOf[kind] ?? "fix_input", ...more });
}

const startAgentTaskCodingRun = defineTool({
  name: "start_agent_task_coding_run",
  description: "Start the one coding run of an attempt.",
  scopes: ["communication:read", "communication:manage", "coding_agent:run", "project:write"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      project: z.string().min(1).max(512),
      provider_id: z.string().min(1).max(64),
      attempt_ref: z.string().max(64).optional(),
      task_id: z.string().max(128).optional(),
      attempt_id: z.string().max(128).optional(),
      assignee_agent_id: z.string().max(128).optional(),
      attempt_fence: z.string().max(128).optional(),
      attempt_controller_generation: z.int().min(1).optional(),
      config: ConfigValues.refine((value) => Object.keys(value).length <= 32).default({}),
      timeout_secs: z.int().min(1).max(3600).default(300),
    }),
  async run(context, args) {
    const found = await context.store.read((db) => select(db, context, args));
    if ("kind" in found) return refused(found.kind);
    const { task, attempt } = found;
    if (task.referenced_project_id === null) return refused("agent_task_project_required");
    if (task.referenced_project_id !== args.project) return refused("agent_task_project_mismatch");
    const ready = prepare(context, args.project, args.provider_id);
    if (!ready.ok) return refused(ready.kind, ready.more);
    const runId = runIdOf(context.principal.stable, `agent-task-coding-run:v1:${attempt.attempt_id}`);
    const intent: RunIntent = {
      runId,
      project: ready.project,
      provider: ready.provider,
      instruction: task.instruction,
      config: args.config,
      timeoutSecs: args.timeout_secs,
    };
    await context.pause("before_bind");
    const bound = await context.store.write((db) => bind(db, context, { attempt, intent }));
    if (bound === "conflict") return refused("agent_task_coding_run_binding_conflict", { run_id: runId });
    await context.pause("after_bind");
    // Claimed before anything is sent: of two callers one dispatches, and a crash leaves "unknown", never "not sent".
    const claimed = await context.store.write(
      (db) =>
        db
          .query(
            "UPDATE agent_task_coding_runs SET dispatch_state = 'outcome_unknown' WHERE run_id = ? AND dispatch_state IN ('prepared', 'not_started')",
          )
          .run(runId).changes === 1,
    );
    if (!claimed) return reconcile(context, attempt.attempt_id);
    const sent = await dispatchStart(context, intent);
    await context.pause("after_dispatch");
    if (sent.dispatch === "answered") {
      await context.store.write((db) => recordObservation(db, sent.run));
      const row = await context.store.read((db) => bindingOf(db, attempt.attempt_id)!);
      return succeed({ ...bindingWire(row), state_changed: false, replayed: bound === "replayed" });
    }
    if (sent.dispatch === "not_started")
      await context.store.write((db) =>
        db.query("UPDATE agent_task_coding_runs SET dispatch_state = 'not_started' WHERE run_id = ?").run(runId),
      );
    return refuse(sent.code, `The run was not confirmed: ${sent.code}.`, {
      task_id: task.task_id,
      attempt_id: attempt.attempt_id,
      run_id: runId,
      execution_status: sent.dispatch,
      recovery_kind: sent.dispatch === "not_started" ? "retry_same" : "reconcile",
    });
  },
});

/** Inserts the binding, or finds the one of the same intent. */
function bind(
  db: Database,
  context: ToolContext,
  made: { readonly attempt: AttemptRow; readonly intent: RunIntent },
): "new" | "replayed" | "conflict" {
  const { attempt, intent } = made;
  const fingerprint = intentOf(intent);
  const old = bindingOf(db, attempt.attempt_id);
  if (old !== null) {
    if (old.intent_fingerprint !== fingerprint) return "conflict";
    if (old.dispatch_state === "prepared" || old.dispatch_state === "not_started")
      db.query("UPDATE agent_task_coding_runs SET provider_instance_id = ? WHERE run_id = ?").run(
        intent.provider.providerInstanceId,
        old.run_id,
      );
    return "replayed";
  }
  db.query(
    "INSERT INTO agent_task_coding_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'prepared', NULL, NULL, 0, NULL, ?)",
  ).run(
    intent.runId,
    attempt.attempt_id,
    attempt.task_id,
    intent.project.id,
    intent.provider.providerId,
    intent.provider.providerInstanceId,
    fingerprint,
    authorityOf(context),
    context.clock.wallMs(),
  );
  return "new";
}

const reconcileAgentTaskCodingRun = defineTool({
  name: "reconcile_agent_task_coding_run",
  description: "Bring a run's durable record up to what is known of it.",
  scopes: ["communication:read", "communication:manage", "coding_agent:run"],
  visibility: "gateway",
  input: () => z.strictObject({ task_id: z.string().max(128), attempt_id: z.string().max(128) }),
  async run(context, args) {
    const kind = await context.store.read((db) => {
      const attempt = attemptOf(db, args.attempt_id);
      const task = taskOf(db, context.principal.owner, args.task_id);
      if (attempt === null || task === null || attempt.task_id !== task.task_id) return "agent_task_attempt_not_found";
      return bindingOf(db, attempt.attempt_id) === null ? "agent_task_coding_run_not_found" : null;
    });
    if (kind !== null) return refuse(kind, "No such run.", { recovery_kind: "reobserve" });
    return reconcile(context, args.attempt_id);
  },
});

function reconcile(context: ToolContext, attemptId: string): Promise<ToolResult> {
  return context.store.write((db) => {
    const binding = bindingOf(db, attemptId)!;
    const live = visibleRun(context, binding.run_id)?.snapshot;
    let changed = false;
    if (live !== undefined && binding.dispatch_state !== "terminal") recordObservation(db, live);
    else if (binding.dispatch_state === "bound")
      db.query("UPDATE agent_task_coding_runs SET dispatch_state = 'outcome_unknown' WHERE run_id = ?").run(
        binding.run_id,
      );
    const seen = bindingOf(db, attemptId)!;
    if (seen.dispatch_state !== "terminal" && seen.run_state !== null && isDefinitive(seen.run_state)) {
      terminalize(db, seen, context.clock.wallMs());
      changed = true;
    }
    const row = bindingOf(db, attemptId)!;
    const states = row.dispatch_state === "terminal" ? { task_state: wordOf(row), attempt_state: wordOf(row) } : {};
    return succeed({ ...bindingWire(row), ...states, state_changed: changed, replayed: false });
  });
}

function wordOf(row: BindingRow): "succeeded" | "failed" {
  return row.run_state === "completed" ? "succeeded" : "failed";
}

/** Task, attempt and binding end together; only the latest attempt may end its task. */
function terminalize(db: Database, row: BindingRow, nowMs: number): void {
  const word = wordOf(row);
  db.query("UPDATE agent_task_coding_runs SET dispatch_state = 'terminal' WHERE run_id = ?").run(row.run_id);
  db.query(
    "UPDATE agent_task_attempts SET state = ?, terminal_at_unix_ms = ?, terminal_result = ? WHERE attempt_id = ?",
  ).run(word, nowMs, word, row.attempt_id);
  if (latestAttempt(db, row.task_id)?.attempt_id !== row.attempt_id) return;
  db.query("UPDATE agent_tasks SET state = ?, updated_at_unix_ms = ?, terminal_at_unix_ms = ? WHERE task_id = ?").run(
    word,
    nowMs,
    nowMs,
    row.task_id,
  );
}

export const codingRunTools = [startAgentTaskCodingRun, reconcileAgentTaskCodingRun] as const;
