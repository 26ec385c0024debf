// Durable tasks: made once per key, listed and read by their owner, given to another agent only while nobody acts.
import { newId } from "../../contract/ids.ts";
import { z } from "../../contract/schema.ts";
import { refuseTask } from "../attempt-selector.ts";
import { makeOnce } from "../keyed.ts";
import { serverLimits } from "../limits.ts";
import { pageAnswer, pageOf } from "../row-page.ts";
import { bindingBlocks, bindingOf, blockingKind } from "../run-bindings.ts";
import type { Database } from "../store.ts";
import { agentOf, expireAttempts, latestAttempt, leaseIsLive, type TaskRow, taskOf, taskSummary } from "../tasks.ts";
import { defineTool, succeed, type ToolContext, type ToolResult } from "../tool.ts";

function summaryOf(db: Database, row: TaskRow, context: ToolContext): Record<string, unknown> {
  return taskSummary(db, row, { nowMs: context.clock.wallMs(), withRef: true });
}

function detailOf(db: Database, taskId: string, context: ToolContext): Record<string, unknown> {
  const row = taskOf(db, context.principal.owner, taskId)!;
  return { summary: summaryOf(db, row, context), instruction: row.instruction };
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
      idempotency_key: z.string().trim().min(1).max(serverLimits.maxIdempotencyKeyChars),
    }),
  async run(context, args) {
    const { owner } = context.principal;
    const { idempotency_key: key, ...rest } = args;
    const wanted = { ...rest, title: args.title.trim(), instruction: args.instruction.trim() };
    const bad = whatIsBad(wanted);
    if (bad !== null) return refuseTask(bad);
    const keyed = { owner, operation: "create_agent_task", key, request: wanted };
    const wallMs = context.clock.wallMs();
    return context.store.write((db) =>
      makeOnce(db, keyed, {
        wallMs,
        make: () => insertTask(db, context, { wanted, wallMs }),
        show: (taskId, replayed) =>
          succeed({
            task: detailOf(db, taskId, context),
            created: !replayed,
            replayed,
            state_changed: !replayed,
          }),
      }),
    );
  },
});

interface WantedTask {
  readonly title: string;
  readonly instruction: string;
  readonly assignee_agent_id?: string | undefined;
  readonly source_conversation_id?: string | undefined;
  readonly source_message_id?: string | undefined;
  readonly referenced_project_id?: string | undefined;
}

function whatIsBad(wanted: WantedTask): string | null {
  const { title, instruction, referenced_project_id: project } = wanted;
  if (title.length < 1 || title.length > 200) return "invalid_agent_task_title";
  if (instruction === "" || Buffer.byteLength(instruction) > 8192) return "invalid_agent_task_instruction";
  if (project !== undefined && (project === "" || project.length > 256)) return "invalid_agent_task_project_reference";
  if (wanted.source_message_id !== undefined && wanted.source_conversation_id === undefined)
    return "agent_task_source_invalid";
  return null;
}

function insertTask(
  db: Database,
  context: ToolContext,
  { wanted, wallMs }: { readonly wanted: WantedTask; readonly wallMs: number },
): string | ToolResult {
  const { owner } = context.principal;
  const assignee = wanted.assignee_agent_id ?? null;
  if (assignee !== null && agentOf(db, owner, assignee) === null) return refuseTask("agent_not_found");
  const held = db.query<{ n: number }, []>("SELECT count(*) AS n FROM agent_tasks").get()?.n ?? 0;
  if (held >= serverLimits.maxAgentTasks) return refuseTask("agent_task_capacity", { recovery_kind: "user_action" });
  const taskId = newId("task", context.random);
  db.query("INSERT INTO agent_tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'ready', ?, ?, NULL)").run(
    taskId,
    owner,
    assignee,
    wanted.title,
    wanted.instruction,
    wanted.source_conversation_id ?? null,
    wanted.source_message_id ?? null,
    wanted.referenced_project_id ?? null,
    wallMs,
    wallMs,
  );
  return taskId;
}

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
    if (args.limit === 0) return refuseTask("invalid_agent_task_list_limit");
    return context.store.read((db) => {
      const page = pageOf<TaskRow>(db, {
        from: "FROM agent_tasks WHERE owner = ?1 AND (?2 IS NULL OR assignee_agent_id = ?2)",
        order: "updated_at_unix_ms DESC, task_id",
        bound: [context.principal.owner, args.assignee_agent_id ?? null],
        offset: args.offset,
        limit: Math.min(args.limit, 100),
      });
      return pageAnswer(page, "tasks", (row) => summaryOf(db, row, context));
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
      if (taskOf(db, context.principal.owner, args.task_id) === null) return refuseTask("agent_task_not_found");
      return succeed({ task: detailOf(db, args.task_id, context) });
    });
  },
});

const assignAgentTask = defineTool({
  name: "assign_agent_task",
  description: "Give a task to an agent; refused while an attempt or a run of it is unresolved.",
  scopes: ["communication:read", "communication:manage"],
  visibility: "gateway",
  annotations: { idempotentHint: true },
  input: () => z.strictObject({ task_id: z.string().max(128), assignee_agent_id: z.string().max(128) }),
  async run(context, args) {
    const { owner } = context.principal;
    const nowMs = context.clock.wallMs();
    return context.store.write((db) => {
      const task = taskOf(db, owner, args.task_id);
      if (task === null) return refuseTask("agent_task_not_found");
      if (task.state === "succeeded" || task.state === "failed") return refuseTask("agent_task_terminal");
      if (agentOf(db, owner, args.assignee_agent_id) === null) return refuseTask("agent_not_found");
      const changes = task.assignee_agent_id !== args.assignee_agent_id;
      const latest = latestAttempt(db, task.task_id);
      if (changes && latest !== null) {
        const binding = bindingOf(db, latest.attempt_id);
        if (bindingBlocks(binding)) return refuseTask(blockingKind(binding));
        if (leaseIsLive(latest, nowMs)) return refuseTask("agent_task_attempt_active");
        expireAttempts(db, task.task_id);
      }
      if (changes)
        db.query(
          "UPDATE agent_tasks SET assignee_agent_id = ?, state = 'ready', updated_at_unix_ms = max(updated_at_unix_ms, ?) WHERE task_id = ?",
        ).run(args.assignee_agent_id, nowMs, task.task_id);
      return succeed({
        task: detailOf(db, task.task_id, context),
        created: false,
        replayed: false,
        state_changed: changes,
      });
    });
  },
});

export const agentTaskTools = [createAgentTask, listAgentTasks, readAgentTask, assignAgentTask] as const;
