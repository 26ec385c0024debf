// memory_search, memory_read, memory_set and memory_delete. A change names the revision it was decided on; another
// revision is a visible conflict and overwrites nothing.
import { utf8 } from "../../base/bytes.ts";
import { z } from "../../contract/schema.ts";
import { serverLimits } from "../limits.ts";
import {
  type Changed,
  deleteMemory,
  type Memory,
  type MemoryPlace,
  memoryOf,
  searchMemories,
  setMemory,
} from "../memories.ts";
import { visibleProject } from "../runner-registry.ts";
import { defineTool, refuse, succeed, type Tool, type ToolContext, type ToolResult } from "../tool.ts";

const project = () => z.string().min(1).max(512);
const memoryKey = () =>
  z
    .string()
    .max(serverLimits.maxMemoryKeyChars)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/);

function placeOf(context: ToolContext, id: string): MemoryPlace | null {
  const found = visibleProject(context.runners, context.principal, id);
  return found === null ? null : { owner: context.principal.owner, project: found.id };
}

function projectNotFound(): ToolResult {
  return refuse("project_not_found", "No such project.", { recovery_kind: "reobserve" });
}

const search = defineTool({
  name: "memory_search",
  description: "List the remembered texts of a project whose key or text holds the query; all of them without a query.",
  scopes: ["project:read", "memory:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () =>
    z.strictObject({
      project: project(),
      query: z.string().max(256).default(""),
      after_key: z.string().max(serverLimits.maxMemoryKeyChars).default(""),
      limit: z.int().min(1).max(serverLimits.memoryPage).default(serverLimits.memoryPage),
    }),
  async run(context, args) {
    const place = placeOf(context, args.project);
    if (place === null) return projectNotFound();
    const wanted = { text: args.query, after: args.after_key, limit: args.limit + 1 };
    const found = await context.store.read((db) => searchMemories(db, place, wanted));
    const shown = found.slice(0, args.limit);
    return succeed({
      project: place.project,
      count: shown.length,
      memories: shown.map((one) => ({ ...facts(one), preview: [...one.value].slice(0, 200).join("") })),
      next_after_key: found.length > shown.length ? shown.at(-1)!.key : null,
    });
  },
});

const read = defineTool({
  name: "memory_read",
  description: "Read one remembered text of a project with its revision.",
  scopes: ["project:read", "memory:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () => z.strictObject({ project: project(), memory_key: memoryKey() }),
  async run(context, args) {
    const place = placeOf(context, args.project);
    if (place === null) return projectNotFound();
    const found = await context.store.read((db) => memoryOf(db, place, args.memory_key));
    if (found === null) return refuse("memory_not_found", "No such memory.", { recovery_kind: "reobserve" });
    return succeed({ project: place.project, memory: { ...facts(found), value: found.value } });
  },
});

function facts(memory: Memory): Record<string, unknown> {
  const { key, revision, sha256, created_at, updated_at } = memory;
  return { memory_key: key, revision, sha256, bytes: utf8(memory.value).length, created_at, updated_at };
}

const set = defineTool({
  name: "memory_set",
  description: "Store a remembered text if it still has the expected revision; null expects that it is absent.",
  scopes: ["project:write", "memory:manage"],
  visibility: "gateway",
  annotations: { destructiveHint: true, idempotentHint: false },
  input: () =>
    z.strictObject({
      project: project(),
      memory_key: memoryKey(),
      value: z
        .string()
        .min(1)
        .refine((text) => text.isWellFormed() && utf8(text).length <= serverLimits.maxMemoryBytes),
      expected_revision: z.int().min(1).nullable(),
    }),
  async run(context, args) {
    const place = placeOf(context, args.project);
    if (place === null) return projectNotFound();
    const nowMs = context.clock.wallMs();
    const wish = { key: args.memory_key, value: args.value, expected: args.expected_revision, nowMs };
    const done = await context.store.write((db) => setMemory(db, place, wish));
    return changeAnswer(done, { project: place.project, memory_key: args.memory_key });
  },
});

const remove = defineTool({
  name: "memory_delete",
  description: "Delete a remembered text if it still has the expected revision.",
  scopes: ["project:write", "memory:manage"],
  visibility: "gateway",
  annotations: { destructiveHint: true, idempotentHint: false },
  input: () => z.strictObject({ project: project(), memory_key: memoryKey(), expected_revision: z.int().min(1) }),
  async run(context, args) {
    const place = placeOf(context, args.project);
    if (place === null) return projectNotFound();
    const wish = { key: args.memory_key, expected: args.expected_revision, nowMs: context.clock.wallMs() };
    const done = await context.store.write((db) => deleteMemory(db, place, wish));
    return changeAnswer(done, { project: place.project, memory_key: args.memory_key });
  },
});

function changeAnswer(done: Changed, about: { readonly project: string; readonly memory_key: string }): ToolResult {
  if (done.changed === "conflict")
    return refuse("memory_revision_conflict", "The memory has another revision; nothing was changed.", {
      failure_kind: "conflict",
      recovery_kind: "reobserve",
      current_revision: done.current,
    });
  if (done.changed === "full")
    return refuse("memory_capacity", "The project takes no more memories.", { recovery_kind: "user_action" });
  return succeed({ ...about, revision: done.revision, created: done.created, state_changed: true });
}

export const memoryTools: readonly Tool[] = [search, read, set, remove];
