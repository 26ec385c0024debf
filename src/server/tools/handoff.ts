// read_session_handoff for models, get_session_handoff_state for an operator's adapter. Both only read: no event, no
// Goal moved, no Session refreshed. Nothing is chosen for the caller.
import { z } from "../../contract/schema.ts";
import { acceptanceOf, goalContextOf } from "../goal-context.ts";
import { type BriefAsked, handoffBrief, openCounts } from "../handoff-brief.ts";
import { messagesOf, messageView } from "../messages.ts";
import { type SessionRow, sessionOf, unknownSession } from "../sessions.ts";
import type { Database } from "../store.ts";
import { defineTool, refuse, succeed, type Tool, type ToolOutput } from "../tool.ts";
import { sessionSummary } from "./list-sessions.ts";

/** The brief and its siblings; a sibling with nothing to say is absent. */
function handoffOf(db: Database, session: SessionRow, asked: BriefAsked): ToolOutput {
  const risks = openCounts(messagesOf(db, session.session_id)).open_risks;
  const goal = goalContextOf(db, session);
  const acceptance = acceptanceOf(db, session, risks);
  return {
    handoff_brief: handoffBrief(db, session, asked),
    ...(goal === null ? {} : { goal_context: goal }),
    ...(acceptance === null ? {} : { acceptance }),
  };
}

const state = defineTool({
  name: "get_session_handoff_state",
  description: "The saved state of exactly one session, for an operator's adapter.",
  scopes: ["runtime:read"],
  visibility: "hidden",
  annotations: { readOnlyHint: true },
  input: () => z.strictObject({ project: z.string().min(1).max(1024), session_id: z.string().min(1).max(128) }),
  run: (context, args) =>
    context.store.read((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null || session.session_id !== args.session_id) return unknownSession();
      if (session.project !== args.project)
        return refuse("session_project_mismatch", "The session belongs to another project.");
      return succeed({
        project: session.project,
        session_id: session.session_id,
        ...handoffOf(db, session, { workspace: false, validation: false }),
      });
    }),
});

const openKinds = { open_todos: "todo", open_risks: "risk", open_questions: "question", open_guidance: "guidance" };

const read = defineTool({
  name: "read_session_handoff",
  description: "Read the saved state of a session before continuing it. It is past evidence, not the present.",
  scopes: ["runtime:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () =>
    z.strictObject({
      session_id: z.string().min(1).max(128),
      project: z.string().min(1).max(1024).optional(),
      include_workspace: z.boolean().default(true),
      include_checkpoints: z.boolean().default(true),
      include_validation: z.boolean().default(true),
      summary_only: z.boolean().default(false),
      limit: z.int().min(0).max(100).default(20),
    }),
  run: (context, args) =>
    context.store.read((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null) return unknownSession();
      const mismatch = args.project !== undefined && args.project !== session.project;
      const warning = {
        warning_kind: "session_project_mismatch",
        session_project: session.project,
        request_project: args.project,
      };
      const messages = messagesOf(db, session.session_id);
      const limit = args.limit === 0 ? 20 : args.limit;
      const kept = (kind: string, openOnly: boolean) =>
        messages
          .filter((row) => row.kind === kind && !(openOnly && row.resolved_at !== null))
          .slice(-limit)
          .map(messageView);
      const lists = args.summary_only
        ? {}
        : {
            ...Object.fromEntries(Object.entries(openKinds).map(([key, kind]) => [key, kept(kind, true)])),
            recent_progress: kept("progress", false),
            recent_decisions: kept("decision", false),
          };
      return succeed({
        ...sessionSummary(session),
        counts: { messages: messages.length, ...openCounts(messages) },
        warnings: mismatch ? [warning] : [],
        ...lists,
        ...handoffOf(db, session, { workspace: args.include_workspace, validation: args.include_validation }),
      });
    }),
});

export const handoffTools: readonly Tool[] = [state, read];
