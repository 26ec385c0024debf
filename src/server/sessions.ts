// Workflow Sessions: owned by one authority, bound to one project, closed for good or open. Their ledger holds what
// this server did itself; reports of adapters live elsewhere and never enter it.

import type { RandomBytes } from "../base/random.ts";
import { newId } from "../contract/ids.ts";
import { serverLimits } from "./limits.ts";
import type { Principal } from "./principal.ts";
import type { Database } from "./store.ts";
import { refuse, type ToolContext, type ToolResult } from "./tool.ts";

export interface SessionRow {
  readonly session_id: string;
  readonly number: number;
  readonly owner: string;
  readonly project: string;
  readonly title: string;
  readonly mode: "normal" | "read_only";
  readonly lifecycle: "active" | "closed";
  readonly created_at: number;
  readonly updated_at: number;
}

export interface EventRow {
  readonly sequence: number;
  readonly event_id: string;
  readonly kind: string;
  readonly tool: string | null;
  readonly text: string | null;
  readonly paths: string | null;
  readonly outcome: string | null;
  readonly created_at: number;
}

/** What writes need besides the rows: the time in milliseconds and chance. */
export interface Moment {
  readonly wallMs: number;
  readonly random: RandomBytes;
}

export function momentOf(context: ToolContext): Moment {
  return { wallMs: context.clock.wallMs(), random: context.random };
}

/** The Session by full id or short selector, if it is the caller's. A foreign one does not exist. */
export function sessionOf(db: Database, principal: Principal, selector: string): SessionRow | null {
  const short = /^~s([1-9][0-9]{0,14})$/.exec(selector)?.[1];
  const row =
    short === undefined
      ? db.query<SessionRow, [string]>("SELECT * FROM sessions WHERE session_id = ?").get(selector)
      : db.query<SessionRow, [number]>("SELECT * FROM sessions WHERE number = ?").get(Number(short));
  return row !== null && (principal.admin || row.owner === principal.owner) ? row : null;
}

/** The refusal for a Session that does not exist for this caller. */
export function unknownSession(): ToolResult {
  return refuse("unknown_session", "No such session.", { recovery_kind: "fix_input" });
}

export interface NewSession {
  readonly project: string;
  readonly instruction: string;
  readonly mode?: "normal" | "read_only";
}

/** Opens a Session; null when the server holds as many as it may. */
export function createSession(
  db: Database,
  principal: Principal,
  options: { readonly wanted: NewSession; readonly moment: Moment },
): SessionRow | null {
  const { wanted, moment } = options;
  const number =
    (db.query<{ value: number }, []>("SELECT value FROM counters WHERE name = 'session_number'").get()?.value ?? 0) + 1;
  if (number > serverLimits.maxSessions) return null;
  db.query("UPDATE counters SET value = ? WHERE name = 'session_number'").run(number);
  const id = newId("session", moment.random);
  db.query(
    `INSERT INTO sessions (session_id, number, owner, project, title, mode, lifecycle, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, 'active', ?, ?)`,
  ).run(
    id,
    number,
    principal.owner,
    wanted.project,
    wanted.instruction,
    wanted.mode ?? "normal",
    moment.wallMs,
    moment.wallMs,
  );
  return sessionOf(db, principal, id);
}

export interface NewEvent {
  readonly kind: "task_instruction" | "tool_call" | "message" | "closed";
  readonly tool?: string;
  readonly text?: string;
  readonly paths?: readonly string[];
  readonly outcome?: "succeeded" | "failed";
}

/** Adds to the ledger and refreshes the Session; the oldest event goes when the ledger is full. Returns its id. */
export function appendEvent(
  db: Database,
  sessionId: string,
  options: { readonly event: NewEvent; readonly moment: Moment },
): string {
  const { event, moment } = options;
  const last = db
    .query<{ last: number | null }, [string]>("SELECT max(sequence) AS last FROM session_events WHERE session_id = ?")
    .get(sessionId);
  const sequence = (last?.last ?? 0) + 1;
  const id = newId("sessionEvent", moment.random);
  db.query(
    `INSERT INTO session_events (session_id, sequence, event_id, kind, tool, text, paths, outcome, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    sessionId,
    sequence,
    id,
    event.kind,
    event.tool ?? null,
    event.text ?? null,
    event.paths === undefined ? null : JSON.stringify(event.paths),
    event.outcome ?? null,
    moment.wallMs,
  );
  db.query("DELETE FROM session_events WHERE session_id = ? AND sequence <= ?").run(
    sessionId,
    sequence - serverLimits.maxEventsPerSession,
  );
  db.query("UPDATE sessions SET updated_at = ? WHERE session_id = ?").run(moment.wallMs, sessionId);
  return id;
}

export function eventsOf(db: Database, sessionId: string): EventRow[] {
  return db
    .query<EventRow, [string]>("SELECT * FROM session_events WHERE session_id = ? ORDER BY sequence")
    .all(sessionId);
}

/** Notes a tool call in an open Session of the caller; a closed or unknown one is left as it is. */
export async function recordToolCall(
  context: ToolContext,
  selector: string,
  call: { readonly tool: string; readonly project: string; readonly paths: readonly string[]; readonly ok: boolean },
): Promise<void> {
  await context.store.write((db) => {
    const session = sessionOf(db, context.principal, selector);
    if (session === null || session.lifecycle === "closed" || session.project !== call.project) return;
    const event: NewEvent = {
      kind: "tool_call",
      tool: call.tool,
      paths: call.paths,
      outcome: call.ok ? "succeeded" : "failed",
    };
    appendEvent(db, session.session_id, { event, moment: momentOf(context) });
  });
}

/** Closes for good; closing again changes nothing. */
export function closeSession(db: Database, session: SessionRow, moment: Moment): boolean {
  if (session.lifecycle === "closed") return false;
  db.query("UPDATE sessions SET lifecycle = 'closed' WHERE session_id = ?").run(session.session_id);
  appendEvent(db, session.session_id, { event: { kind: "closed" }, moment });
  return true;
}

export interface SessionPage {
  readonly total: number;
  readonly rows: readonly SessionRow[];
}

/** The caller's Sessions of a project, most recently changed first. */
export function listSessionRows(
  db: Database,
  principal: Principal,
  page: {
    readonly project: string;
    readonly lifecycle: string | null;
    readonly offset: number;
    readonly limit: number;
  },
): SessionPage {
  const where = "project = ?1 AND (?2 = 1 OR owner = ?3) AND (?4 IS NULL OR lifecycle = ?4)";
  const bound = [page.project, principal.admin ? 1 : 0, principal.owner, page.lifecycle] as const;
  const total =
    db
      .query<{ n: number }, [string, number, string, string | null]>(
        `SELECT count(*) AS n FROM sessions WHERE ${where}`,
      )
      .get(...bound)?.n ?? 0;
  const rows = db
    .query<SessionRow, [string, number, string, string | null, number, number]>(
      `SELECT * FROM sessions WHERE ${where} ORDER BY updated_at DESC, number DESC LIMIT ?5 OFFSET ?6`,
    )
    .all(...bound, page.limit, page.offset);
  return { total, rows };
}
