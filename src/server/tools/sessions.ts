// The Session tools: open or continue, say something, settle it, close.
import { z } from "../../contract/schema.ts";
import { serverLimits } from "../limits.ts";
import { messageKinds, messagesOf, messageView, postMessage, resolveMessage } from "../messages.ts";
import { visibleProject, visibleProjects } from "../runner-registry.ts";
import { appendEvent, closeSession, createSession, momentOf, sessionOf, unknownSession } from "../sessions.ts";
import { defineTool, refuse, succeed, type Tool, type ToolContext } from "../tool.ts";
import { sessionSummary } from "./list-sessions.ts";

const sessionId = () => z.string().min(1).max(128);

const workOnProject = defineTool({
  name: "work_on_project",
  description: "Open a session for a project, or continue the named one, with an instruction.",
  scopes: ["runtime:read"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      project: z.string().min(1).max(1024).optional(),
      client_id: z.string().min(1).max(128).optional(),
      path: z.string().min(1).max(serverLimits.maxPathChars).optional(),
      instruction: z.string().min(1).max(serverLimits.maxInstructionChars),
      session_id: sessionId().optional(),
      include_project_instructions: z.boolean().optional(),
      include_workflow_guidance: z.boolean().optional(),
      guidance_profile: z.string().max(64).optional(),
    }),
  async run(context, args) {
    const project = namedProject(context, args);
    if (project === null) return refuse("project_not_found", "No such project.", { recovery_kind: "reobserve" });
    return context.store.write((db) => {
      const moment = momentOf(context);
      let session = args.session_id === undefined ? null : sessionOf(db, context.principal, args.session_id);
      if (args.session_id !== undefined) {
        if (session === null) return unknownSession();
        if (session.project !== project)
          return refuse("session_project_mismatch", "The session belongs to another project.");
        if (session.lifecycle === "closed") return refuse("session_closed", "The session is closed.");
      }
      session ??= createSession(db, context.principal, { wanted: { project, instruction: args.instruction }, moment });
      if (session === null)
        return refuse("session_capacity", "No more sessions are taken.", { recovery_kind: "user_action" });
      appendEvent(db, session.session_id, { event: { kind: "task_instruction", text: args.instruction }, moment });
      const continuation = args.session_id === undefined ? "created" : "resumed_explicitly";
      return succeed({ ...sessionSummary(sessionOf(db, context.principal, session.session_id)!), continuation });
    });
  },
});

/** The exact runtime id the arguments name, or null when it is not the caller's. */
function namedProject(
  context: ToolContext,
  args: {
    readonly project?: string | undefined;
    readonly client_id?: string | undefined;
    readonly path?: string | undefined;
  },
): string | null {
  if (args.project !== undefined) return visibleProject(context.runners, context.principal, args.project)?.id ?? null;
  const found = visibleProjects(context.runners, context.principal).filter(
    (project) => project.clientId === args.client_id && project.path === args.path,
  );
  return found.length === 1 ? found[0]!.id : null;
}

const post = defineTool({
  name: "post_session_message",
  description: "Say something inside a session.",
  scopes: ["session:collaborate"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      session_id: sessionId(),
      kind: z.enum(messageKinds),
      message: z.string().min(1).max(serverLimits.maxMessageChars),
      tags: z.array(z.string().min(1).max(serverLimits.maxTagChars)).max(serverLimits.maxTags).default([]),
      reply_to: z.string().max(128).nullish(),
      priority: z.enum(["low", "normal", "high"]).default("normal"),
      requires_ack: z.boolean().default(false),
      delivery_key: z.string().min(1).max(128).nullish(),
    }),
  run: (context, args) =>
    context.store.write((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null) return unknownSession();
      if (session.lifecycle === "closed") return refuse("session_closed", "The session is closed.");
      if (args.requires_ack && !(args.kind === "guidance" && args.priority === "high"))
        return refuse("invalid_session_message", "Only guidance of high priority asks for an answer.", {
          recovery_kind: "fix_input",
        });
      const { session_id: _, delivery_key, reply_to, ...rest } = args;
      const wanted = { ...rest, reply_to: reply_to ?? null };
      const done = postMessage(db, session.session_id, {
        wanted,
        deliveryKey: delivery_key ?? null,
        moment: momentOf(context),
      });
      if (done.posted === "conflict")
        return refuse("session_message_conflict", "Another message has this delivery key.", {
          recovery_kind: "fix_input",
        });
      if (done.posted === "full")
        return refuse("session_message_capacity", "The session takes no more messages.", {
          recovery_kind: "user_action",
        });
      if (done.posted === "no_such_reply")
        return refuse("session_message_not_found", "No such message.", { recovery_kind: "fix_input" });
      return succeed({
        success: true,
        session_id: session.session_id,
        message_id: done.row.message_id,
        message: messageView(done.row),
        replayed: done.posted === "replayed",
      });
    }),
});

const list = defineTool({
  name: "list_session_messages",
  description: "List what was said inside a session, oldest first.",
  scopes: ["runtime:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () => z.strictObject({ session_id: sessionId(), kind: z.enum(messageKinds).optional() }),
  run: (context, args) =>
    context.store.read((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null) return unknownSession();
      const rows = messagesOf(db, session.session_id).filter(
        (row) => args.kind === undefined || row.kind === args.kind,
      );
      return succeed({
        session_id: session.session_id,
        total: rows.length,
        messages: rows.slice(-200).map(messageView),
      });
    }),
});

const resolve = defineTool({
  name: "resolve_session_message",
  description: "Mark a question, risk, todo or guidance as settled.",
  scopes: ["session:collaborate"],
  visibility: "gateway",
  input: () => z.strictObject({ session_id: sessionId(), message_id: z.string().min(1).max(128) }),
  run: (context, args) =>
    context.store.write((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null) return unknownSession();
      if (session.lifecycle === "closed") return refuse("session_closed", "The session is closed.");
      if (!messagesOf(db, session.session_id).some((row) => row.message_id === args.message_id))
        return refuse("session_message_not_found", "No such message.", { recovery_kind: "fix_input" });
      const changed = resolveMessage(db, args.message_id, context.clock.wallMs());
      return succeed({
        session_id: session.session_id,
        message_id: args.message_id,
        resolved: true,
        state_changed: changed,
      });
    }),
});

const close = defineTool({
  name: "close_session",
  description: "Close a session for good; it stays readable.",
  scopes: ["session:collaborate"],
  visibility: "gateway",
  input: () => z.strictObject({ session_id: sessionId() }),
  run: (context, args) =>
    context.store.write((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null) return unknownSession();
      const changed = closeSession(db, session, momentOf(context));
      const after = sessionOf(db, context.principal, args.session_id)!;
      return succeed({
        success: true,
        session_id: session.session_id,
        lifecycle: "closed",
        already_closed: !changed,
        updated_at: Math.floor(after.updated_at / 1000),
      });
    }),
});

export const sessionTools: readonly Tool[] = [workOnProject, post, list, resolve, close];
