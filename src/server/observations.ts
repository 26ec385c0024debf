// Reports of adapters: evidence only. A report and its key are one row in one transaction; the same report again
// reads the stored one, another under the same key is a conflict, and nothing is ever dropped to make room.
import { serverLimits } from "./limits.ts";
import type { Database } from "./store.ts";

export interface Report {
  readonly session_id: string;
  readonly adapter_id: string;
  readonly event_id: string;
  readonly project: string;
  readonly tool: string;
  readonly exit_code: number | null;
}

export interface StoredReport extends Report {
  readonly recorded_at: number;
}

export type Recorded =
  | { readonly recorded: "inserted"; readonly row: StoredReport }
  | { readonly recorded: "replayed"; readonly row: StoredReport }
  | { readonly recorded: "conflict" }
  | { readonly recorded: "full" };

export const coverage = {
  complete: false,
  reason: "source_sequence_unavailable",
  ordering: "server_recorded_at_then_identity",
} as const;

/** Stores one report; `perSession` bounds its Session, a named number bounds the server. */
export function recordReport(
  db: Database,
  report: Report,
  bounds: { readonly perSession: number; readonly nowMs: number },
): Recorded {
  const stored = db
    .query<StoredReport, [string, string, string]>(
      "SELECT * FROM external_observations WHERE session_id = ? AND adapter_id = ? AND event_id = ?",
    )
    .get(report.session_id, report.adapter_id, report.event_id);
  if (stored !== null) {
    const same =
      stored.project === report.project && stored.tool === report.tool && stored.exit_code === report.exit_code;
    return same ? { recorded: "replayed", row: stored } : { recorded: "conflict" };
  }
  if (countOf(db, report.session_id) >= bounds.perSession || totalOf(db) >= serverLimits.observationsTotal)
    return { recorded: "full" };
  db.query(
    "INSERT INTO external_observations (session_id, adapter_id, event_id, project, tool, exit_code, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  ).run(
    report.session_id,
    report.adapter_id,
    report.event_id,
    report.project,
    report.tool,
    report.exit_code,
    bounds.nowMs,
  );
  db.query(
    "INSERT INTO session_observation_counts (session_id, total) VALUES (?, 1) ON CONFLICT (session_id) DO UPDATE SET total = total + 1",
  ).run(report.session_id);
  db.query("UPDATE counters SET value = value + 1 WHERE name = 'external_observations'").run();
  return { recorded: "inserted", row: { ...report, recorded_at: bounds.nowMs } };
}

function countOf(db: Database, sessionId: string): number {
  const row = db
    .query<{ total: number }, [string]>("SELECT total FROM session_observation_counts WHERE session_id = ?")
    .get(sessionId);
  return row?.total ?? 0;
}

function totalOf(db: Database): number {
  return (
    db.query<{ value: number }, []>("SELECT value FROM counters WHERE name = 'external_observations'").get()?.value ?? 0
  );
}

/** Every report of a Session, in the order of the server's clock, then identity. */
export function reportsOf(db: Database, sessionId: string): StoredReport[] {
  return db
    .query<StoredReport, [string]>(
      "SELECT * FROM external_observations WHERE session_id = ? ORDER BY recorded_at, adapter_id, event_id",
    )
    .all(sessionId);
}

/** One report as answers show it; a missing exit code is unknown, never a success. */
export function reportRow(row: StoredReport): Record<string, unknown> {
  const status = row.exit_code === null ? "unknown" : row.exit_code === 0 ? "reported_success" : "reported_failure";
  return {
    adapter_id: row.adapter_id,
    event_id: row.event_id,
    tool: row.tool,
    exit_code: row.exit_code,
    recorded_at: row.recorded_at,
    status,
  };
}
