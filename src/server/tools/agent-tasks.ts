// Durable tasks and attempts: each made once per key, one live attempt at a time, and none beside an unresolved run.
import { newId } from "../../contract/ids.ts";
import { z } from "../../contract/schema.ts";
import { lookUpKey, rememberKey } from "../idempotency.ts";
import type { Database } from "../store.ts";
import {
  agentOf,
  attemptOf,
  attemptWire,
  bindingBlocks,
  bindingOf,
  insertAttempt,
  latestAttempt,
  leaseIsLive,
  type TaskRow,
  taskOf,
  taskSummary,
} from "../tasks.ts";
import { defineTool, refuse, succeed, type ToolContext, type ToolResult } from "../tool.ts";

const Key = () => z.string().trim().min(1).max(128);

function summaryOf(db: Database, row: TaskRow, context: ToolContext): Record<string, unknown> {
  return taskSummary(db, row, { nowMs: context.clock.wallMs(), withRef: true });
}

function conflict(): ToolResult {
  return refuse("communication_idempotency_conflict", "The key was used for another request.", {
    recovery_kind: "reobserve",
  });
}

const createAgentTask = defineTool({
  name: "create_agent_task",
  description: "Create a durable task for an agent.",
  scopes: ["communication:read", "communication:manage"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      title: z.string(),
      instruction: z.string(),
      assignee_agent_id: z.string().max(128).optional(),
      source_conversation_id: z.string().max(128).optional(),
      source_message_id: z.string().max(128).optional(),
      referenced_project_id: z.string().optional(),
      idempotency_key: Key(),
    }),
  async run(context, args) {
    const { owner } = context.principal;
    const { idempotency_key: key, ...rest } = args;
    const title = args.title.trim();
    const instruction = args.instruction.trim();
    const bad = (kind: string) => refuse(kind, "The task is not valid.", { recovery_kind: "fix_input" });
    if (title.length < 1 || title.length > 200) return bad("invalid_agent_task_title");
    if (instruction === "" || Buffer.byteLength(instruction) > 8192) return bad("invalid_agent_task_instruction");
    const project = args.referenced_project_id;
    if (project !== undefined && (project === "" || project.length > 256))
      return bad("invalid_agent_task_project_reference");
    if (args.source_message_id !== undefined && args.source_conversation_id === undefined)
      return bad("agent_task_source_invalid");
    const keyed = { owner, operation: "create_agent_task", key, request: { ...rest, title, instruction } };
    return context.store.write((db) => {
      const seen = lookUpKey(db, keyed);
      if (seen.seen === "conflict") return conflict();
      if (seen.seen === "replay") return shown(db, seen.resource, true);
      if (args.assignee_agent_id !== undefined && agentOf(db, owner, args.assignee_agent_id) === null)
        return refuse("agent_not_found", "No such agent.", { recovery_kind: "fix_input" });
      const taskId = newId("task", context.random);
      const now = context.clock.wallMs();
      db.query("INSERT INTO agent_tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'ready', ?, ?, NULL)").run(
        taskId,
        owner,
        args.assignee_agent_id ?? null,
        title,
        instruction,
        args.source_conversation_id ?? null,
        args.source_message_id ?? null,
        project ?? null,
        now,
        now,
      );
      rememberKey(db, keyed, { resource: taskId, wallMs: now });
      return shown(db, taskId, false);
    });

    function shown(db: Database, taskId: string, replayed: boolean): ToolResult {
      const row = taskOf(db, owner, taskId)!;
      const task = { summary: summaryOf(db, row, context), instruction: row.instruction };
      return succeed({ task, created: !replayed, replayed, state_changed: !replayed });
    }
  },
});

const listAgentTasks = defineTool({
  name: "list_agent_tasks",
  description: "List the caller's tasks, latest change first.",
  scopes: ["communication:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () =>
    z.strictObject({
      assignee_agent_id: z.string().max(128).optional(),
      offset: z.int().min(0).default(0),
      limit: z.int().min(0).default(50),
    }),
  async run(context, args) {
    if (args.limit === 0)
      return refuse("invalid_agent_task_list_limit", "limit is zero.", { recovery_kind: "fix_input" });
    const { owner } = context.principal;
    const assignee = args.assignee_agent_id ?? null;
    const where = "owner = ?1 AND (?2 IS NULL OR assignee_agent_id = ?2)";
    return context.store.read((db) => {
      const total = db
        .query<{ n: number }, [string, string | null]>(`SELECT count(*) AS n FROM agent_tasks WHERE ${where}`)
        .get(owner, assignee)!.n;
      const rows = db
        .query<TaskRow, [string, string | null, number, number]>(
          `SELECT * FROM agent_tasks WHERE ${where} ORDER BY updated_at_unix_ms DESC, task_id LIMIT ?3 OFFSET ?4`,
        )
        .all(owner, assignee, Math.min(args.limit, 100), args.offset);
      const end = args.offset + rows.length;
      return succeed({
        total_count: total,
        offset: args.offset,
        next_offset: end < total ? end : null,
        truncated: end < total,
        tasks: rows.map((row) => summaryOf(db, row, context)),
      });
    });
  },
});

const readAgentTask = defineTool({
  name: "read_agent_task",
  description: "Read one task with its instruction.",
  scopes: ["communication:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () => z.strictObject({ task_id: z.string().max(128) }),
  async run(context, args) {
    return context.store.read((db) => {
      const row = taskOf(db, context.principal.owner, args.task_id);
      if (row === null) return refuse("agent_task_not_found", "No such task.", { recovery_kind: "reobserve" });
      return succeed({ task: { summary: summaryOf(db, row, context), instruction: row.instruction } });
    });
  },
});

const startAgentTaskAttempt = defineTool({
  name: "start_agent_task_attempt",
  description: "Start an attempt at a task; its lease lasts one minute.",
  scopes: ["communication:read", "communication:manage"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      task_id: z.string().max(128),
      assignee_agent_id: z.string().max(128),
      idempotency_key: Key(),
    }),
  async run(context, args) {
    const { owner } = context.principal;
    const request = { task_id: args.task_id, assignee_agent_id: args.assignee_agent_id };
    const keyed = { owner, operation: "start_agent_task_attempt", key: args.idempotency_key, request };
    return context.store.write((db) => {
      const seen = lookUpKey(db, keyed);
      if (seen.seen === "conflict") return conflict();
      if (seen.seen === "replay") return shown(db, seen.resource, true);
      const task = taskOf(db, owner, args.task_id);
      const kind = task === null ? "agent_task_not_found" : whyNotNow(db, task, args.assignee_agent_id);
      if (task === null || kind !== null)
        return refuse(kind ?? "agent_task_not_found", "The attempt cannot start.", { recovery_kind: "reobserve" });
      const nowMs = context.clock.wallMs();
      const attemptId = newId("attempt", context.random);
      const fence = newId("fence", context.random);
      insertAttempt(db, task, { attemptId, fence, assignee: args.assignee_agent_id, nowMs });
      rememberKey(db, keyed, { resource: attemptId, wallMs: nowMs });
      return shown(db, attemptId, false);
    });

    function whyNotNow(db: Database, task: TaskRow, assignee: string): string | null {
      if (task.state === "succeeded" || task.state === "failed") return "agent_task_terminal";
      if (task.assignee_agent_id === null) return "agent_task_unassigned";
      if (task.assignee_agent_id !== assignee) return "agent_task_assignee_mismatch";
      if (agentOf(db, owner, assignee) === null) return "agent_not_found";
      const latest = latestAttempt(db, task.task_id);
      if (latest === null) return null;
      const binding = bindingOf(db, latest.attempt_id);
      if (bindingBlocks(binding))
        return binding?.dispatch_state === "bound"
          ? "agent_task_execution_active"
          : "agent_task_execution_outcome_unknown";
      return leaseIsLive(latest, context.clock.wallMs()) ? "agent_task_attempt_active" : null;
    }

    function shown(db: Database, attemptId: string, replayed: boolean): ToolResult {
      const attempt = attemptOf(db, attemptId)!;
      const nowMs = context.clock.wallMs();
      const row = taskOf(db, owner, attempt.task_id)!;
      const { attempt_ref: ref, ...task } = taskSummary(db, row, { nowMs, withRef: true });
      return succeed({
        task,
        attempt: attemptWire(attempt, nowMs),
        attempt_fence: attempt.fence,
        ...(ref === undefined ? {} : { attempt_ref: ref }),
        replayed,
        state_changed: !replayed,
      });
    }
  },
});

export const agentTaskTools = [createAgentTask, listAgentTasks, readAgentTask, startAgentTaskAttempt] as const;
