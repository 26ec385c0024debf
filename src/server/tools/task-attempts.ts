// Attempts at a task: one live lease at a time, prolonged by a sign of life, ended by a result under its own key.
// None starts or ends beside a coding run whose outcome is not settled.
import { newId } from "../../contract/ids.ts";
import { z } from "../../contract/schema.ts";
import { attemptLeaseMs } from "../../contract/tasks.ts";
import { refuseTask, selectAttempt, selectorShape } from "../attempt-selector.ts";
import { makeOnce } from "../keyed.ts";
import { serverLimits } from "../limits.ts";
import { bindingBlocks, bindingOf, blockingKind } from "../run-bindings.ts";
import type { Database } from "../store.ts";
import {
  agentOf,
  attemptOf,
  attemptWire,
  endAttempt,
  insertAttempt,
  latestAttempt,
  leaseIsLive,
  type TaskRow,
  taskOf,
  taskSummary,
} from "../tasks.ts";
import { defineTool, succeed, type ToolContext } from "../tool.ts";

const manage = ["communication:read", "communication:manage"] as const;
const Key = () => z.string().trim().min(1).max(serverLimits.maxIdempotencyKeyChars);

/** The attempt with its task; the fence is never part of it. */
function attemptAnswer(db: Database, context: ToolContext, attemptId: string): Record<string, unknown> {
  const attempt = attemptOf(db, attemptId)!;
  const nowMs = context.clock.wallMs();
  const row = taskOf(db, context.principal.owner, attempt.task_id)!;
  const { attempt_ref: ref, ...task } = taskSummary(db, row, { nowMs, withRef: true });
  return { task, attempt: attemptWire(attempt, nowMs), ...(ref === undefined ? {} : { attempt_ref: ref }) };
}

const startAgentTaskAttempt = defineTool({
  name: "start_agent_task_attempt",
  description: "Start an attempt at a task; its lease lasts one minute.",
  scopes: manage,
  visibility: "gateway",
  input: () =>
    z.strictObject({
      task_id: z.string().max(128),
      assignee_agent_id: z.string().max(128),
      idempotency_key: Key(),
    }),
  async run(context, args) {
    const { idempotency_key: key, ...request } = args;
    const keyed = { owner: context.principal.owner, operation: "start_agent_task_attempt", key, request };
    const nowMs = context.clock.wallMs();
    return context.store.write((db) =>
      makeOnce(db, keyed, {
        wallMs: nowMs,
        make() {
          const task = taskOf(db, context.principal.owner, args.task_id);
          if (task === null) return refuseTask("agent_task_not_found");
          const kind = whyNotNow(db, task, { assignee: args.assignee_agent_id, nowMs });
          if (kind !== null) return refuseTask(kind);
          const attemptId = newId("attempt", context.random);
          const fence = newId("fence", context.random);
          insertAttempt(db, task, { attemptId, fence, assignee: args.assignee_agent_id, nowMs });
          return attemptId;
        },
        show: (attemptId, replayed) =>
          succeed({
            ...attemptAnswer(db, context, attemptId),
            attempt_fence: attemptOf(db, attemptId)!.fence,
            replayed,
            state_changed: !replayed,
          }),
      }),
    );
  },
});

function whyNotNow(
  db: Database,
  task: TaskRow,
  { assignee, nowMs }: { readonly assignee: string; readonly nowMs: number },
): string | null {
  if (task.state === "succeeded" || task.state === "failed") return "agent_task_terminal";
  if (task.assignee_agent_id === null) return "agent_task_unassigned";
  if (task.assignee_agent_id !== assignee) return "agent_task_assignee_mismatch";
  if (agentOf(db, task.owner, assignee) === null) return "agent_not_found";
  const latest = latestAttempt(db, task.task_id);
  if (latest === null) return null;
  const binding = bindingOf(db, latest.attempt_id);
  if (bindingBlocks(binding)) return blockingKind(binding);
  return leaseIsLive(latest, nowMs) ? "agent_task_attempt_active" : null;
}

const heartbeatAgentTaskAttempt = defineTool({
  name: "heartbeat_agent_task_attempt",
  description: "Prolong a live attempt's lease to one minute from now; a lease that ran out stays out.",
  scopes: manage,
  visibility: "gateway",
  input: () => z.strictObject(selectorShape()),
  async run(context, args) {
    return context.store.write((db) => {
      const found = selectAttempt(db, context, args);
      if ("kind" in found) return refuseTask(found.kind);
      const nowMs = context.clock.wallMs();
      const { attempt_id: id, lease_expires_at_unix_ms: before } = found.attempt;
      db.query("UPDATE agent_task_attempts SET lease_expires_at_unix_ms = ? WHERE attempt_id = ?").run(
        Math.max(before, nowMs + attemptLeaseMs),
        id,
      );
      return succeed({ ...attemptAnswer(db, context, id), state_changed: true });
    });
  },
});

const completeAgentTaskAttempt = defineTool({
  name: "complete_agent_task_attempt",
  description: "End a live attempt and its task with a result; an unresolved coding run is reconciled instead.",
  scopes: manage,
  visibility: "gateway",
  input: () =>
    z.strictObject({
      ...selectorShape(),
      outcome: z.enum(["succeeded", "failed"]),
      terminal_result: bounded(serverLimits.maxTaskResultBytes).optional(),
      terminal_reason: bounded(serverLimits.maxTaskReasonBytes).optional(),
      completion_key: Key(),
    }),
  async run(context, args) {
    const { completion_key: key, ...request } = args;
    const keyed = { owner: context.principal.owner, operation: "complete_agent_task_attempt", key, request };
    const nowMs = context.clock.wallMs();
    return context.store.write((db) =>
      makeOnce(db, keyed, {
        wallMs: nowMs,
        make() {
          const found = selectAttempt(db, context, args);
          if ("kind" in found) return refuseTask(found.kind);
          const binding = bindingOf(db, found.attempt.attempt_id);
          if (bindingBlocks(binding)) return refuseTask(blockingKind(binding));
          endAttempt(db, found.attempt, {
            outcome: args.outcome,
            result: args.terminal_result ?? null,
            reason: args.terminal_reason ?? null,
            nowMs,
          });
          return found.attempt.attempt_id;
        },
        show: (attemptId, replayed) =>
          succeed({ ...attemptAnswer(db, context, attemptId), replayed, state_changed: !replayed }),
      }),
    );
  },
});

function bounded(maxBytes: number) {
  return z.string().refine((text) => Buffer.byteLength(text) <= maxBytes);
}

export const taskAttemptTools = [startAgentTaskAttempt, heartbeatAgentTaskAttempt, completeAgentTaskAttempt] as const;
