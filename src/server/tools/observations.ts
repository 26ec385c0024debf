// record_external_observation and list_external_observations. Neither leaves an event in the Session's ledger, moves
// a Goal or refreshes anything; the ids correlate and authorise nothing.
import { codeOf } from "../../base/failure.ts";
import { z } from "../../contract/schema.ts";
import { coverage, type Recorded, recordReport, reportRow, reportsOf } from "../observations.ts";
import { sessionOf, unknownSession } from "../sessions.ts";
import { defineTool, refuse, succeed, type Tool, type ToolResult } from "../tool.ts";

const provenance = "external_report";

function projectMismatch(): ToolResult {
  return refuse("session_project_mismatch", "The session belongs to another project.");
}

const record = defineTool({
  name: "record_external_observation",
  description: "Store one report of an adapter about a tool it saw.",
  scopes: ["session:collaborate"],
  visibility: "hidden",
  input: () =>
    z.strictObject({
      project: z.string(),
      session_id: z.string(),
      adapter_id: z.string(),
      event_id: z.string(),
      observed_tool: z.string(),
      exit_code: z.number().nullish(),
    }),
  async run(context, args) {
    let done: Recorded | ToolResult;
    try {
      done = await context.store.write((db) => {
        const session = sessionOf(db, context.principal, args.session_id);
        if (session === null || session.session_id !== args.session_id) return unknownSession();
        if (session.project !== args.project) return projectMismatch();
        if (session.lifecycle === "closed") return refuse("session_closed", "The session is closed.");
        if (!legal(args))
          return refuse("invalid_external_observation", "A field is not legal.", { recovery_kind: "fix_input" });
        const { observed_tool: tool, exit_code, ...rest } = args;
        const bounds = { perSession: context.limits.observationsPerSession, nowMs: context.clock.wallMs() };
        return recordReport(db, { ...rest, tool, exit_code: exit_code ?? null }, bounds);
      });
    } catch (error) {
      return storeRefusal(error);
    }
    if ("success" in done) return done;
    if (done.recorded === "conflict")
      return refuse("external_observation_conflict", "Another report has this key.", {
        failure_kind: "conflict",
        recovery_kind: "fix_input",
      });
    if (done.recorded === "full")
      return refuse("external_observation_capacity", "No more reports are taken.", {
        recovery_kind: "user_action",
        recovery: "Close this session and continue in a new one; a new event id does not make room.",
      });
    return succeed({
      session_id: args.session_id,
      project: args.project,
      provenance,
      inserted: done.recorded === "inserted",
      observation: reportRow(done.row),
    });
  },
});

function legal(args: {
  readonly adapter_id: string;
  readonly event_id: string;
  readonly observed_tool: string;
  readonly exit_code?: number | null | undefined;
}): boolean {
  const code = args.exit_code ?? 0;
  return (
    /^[0-9a-f]{64}$/.test(args.adapter_id) &&
    /^[0-9a-f]{64}$/.test(args.event_id) &&
    /^[A-Za-z0-9_.:-]{1,64}$/.test(args.observed_tool) &&
    Number.isInteger(code) &&
    code >= -2_147_483_648 &&
    code <= 2_147_483_647
  );
}

/** A failed write is no proof that nothing was written; only a write that never began is. */
function storeRefusal(error: unknown): ToolResult {
  const more = { retry_same_event_identity: true, recovery_kind: "retry_same" };
  if (codeOf(error) === "store_unavailable")
    return refuse("external_observation_store_unavailable", "Nothing was stored.", more);
  return refuse("external_observation_storage_uncertain", "Whether it was stored is not known.", {
    ...more,
    state_changed: null,
    failure_kind: "outcome_unknown",
    recovery: "Send the same report again.",
  });
}

const list = defineTool({
  name: "list_external_observations",
  description: "List the reports that adapters made about a session. They claim no completeness and no order of work.",
  scopes: ["runtime:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () => z.strictObject({ project: z.string(), session_id: z.string() }),
  run: (context, args) =>
    context.store.read((db) => {
      const session = sessionOf(db, context.principal, args.session_id);
      if (session === null) return unknownSession();
      if (session.project !== args.project) return projectMismatch();
      const observations = reportsOf(db, session.session_id).map(reportRow);
      return succeed({ session_id: session.session_id, project: args.project, provenance, coverage, observations });
    }),
});

export const observationTools: readonly Tool[] = [record, list];
