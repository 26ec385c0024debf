// The coding run of an attempt: bound durably before anything is sent, dispatched once however often it is asked
// for, and reconciled from what is known without asking the runner.
import { ConfigValues, isDefinitive } from "../../contract/runs.ts";
import { z } from "../../contract/schema.ts";
import { refuseTask, selectAttempt, selectorShape } from "../attempt-selector.ts";
import { type BindingRow, bindingOf, bindingWire, recordObservation } from "../run-bindings.ts";
import { authorityOf, dispatchStart, intentOf, prepare, type RunIntent, visibleRun } from "../run-dispatch.ts";
import { runIdOf } from "../runs.ts";
import type { Database } from "../store.ts";
import { type AttemptRow, attemptOf, endAttempt, taskOf } from "../tasks.ts";
import { defineTool, refuse, succeed, type ToolContext, type ToolResult } from "../tool.ts";

const startAgentTaskCodingRun = defineTool({
  name: "start_agent_task_coding_run",
  description: "Start the one coding run of an attempt.",
  scopes: ["communication:read", "communication:manage", "coding_agent:run", "project:write"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      project: z.string().min(1).max(512),
      provider_id: z.string().min(1).max(64),
      ...selectorShape(),
      config: ConfigValues.refine((value) => Object.keys(value).length <= 32).default({}),
      timeout_secs: z.int().min(1).max(3600).default(300),
    }),
  async run(context, args) {
    const found = await context.store.read((db) => selectAttempt(db, context, args));
    if ("kind" in found) return refuseTask(found.kind);
    const { task, attempt } = found;
    if (task.referenced_project_id === null) return refuseTask("agent_task_project_required");
    if (task.referenced_project_id !== args.project) return refuseTask("agent_task_project_mismatch");
    const ready = prepare(context, args.project, args.provider_id);
    if (!ready.ok) return refuseTask(ready.kind, ready.more);
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
    if (bound === "conflict") return refuseTask("agent_task_coding_run_binding_conflict", { run_id: runId });
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
  endAttempt(db, row, { outcome: word, result: word, reason: null, nowMs });
}

export const codingRunTools = [startAgentTaskCodingRun, reconcileAgentTaskCodingRun] as const;
