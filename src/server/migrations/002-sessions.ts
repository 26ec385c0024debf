// Sessions, their ledger of events and messages, and the reports of adapters, which are no events.
import type { Migration } from "../migrations.ts";

export const sessions: Migration = {
  version: 2,
  name: "sessions",
  statements: [
    `CREATE TABLE sessions (
      session_id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, owner TEXT NOT NULL, project TEXT NOT NULL,
      title TEXT NOT NULL, mode TEXT NOT NULL, lifecycle TEXT NOT NULL,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`,
    "CREATE INDEX sessions_by_project ON sessions (project, owner, updated_at DESC)",
    `CREATE TABLE session_events (
      session_id TEXT NOT NULL REFERENCES sessions(session_id), sequence INTEGER NOT NULL, event_id TEXT NOT NULL,
      kind TEXT NOT NULL, tool TEXT, text TEXT, paths TEXT, outcome TEXT, created_at INTEGER NOT NULL,
      PRIMARY KEY (session_id, sequence)) STRICT, WITHOUT ROWID`,
    `CREATE TABLE session_messages (
      message_id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(session_id), sequence INTEGER NOT NULL,
      kind TEXT NOT NULL, message TEXT NOT NULL, tags TEXT NOT NULL, reply_to TEXT, priority TEXT NOT NULL,
      requires_ack INTEGER NOT NULL, delivery_key TEXT, payload_digest TEXT NOT NULL, resolved_at INTEGER,
      created_at INTEGER NOT NULL,
      UNIQUE (session_id, sequence), UNIQUE (session_id, delivery_key)) STRICT`,
    `CREATE TABLE external_observations (
      session_id TEXT NOT NULL, adapter_id TEXT NOT NULL, event_id TEXT NOT NULL, project TEXT NOT NULL,
      tool TEXT NOT NULL, exit_code INTEGER, recorded_at INTEGER NOT NULL,
      PRIMARY KEY (session_id, adapter_id, event_id)) STRICT, WITHOUT ROWID`,
    "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "INSERT INTO counters (name, value) VALUES ('external_observations', 0), ('session_number', 0)",
    `CREATE TABLE session_observation_counts (
      session_id TEXT PRIMARY KEY, total INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  ],
};
