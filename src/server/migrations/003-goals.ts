// Goals, what they are correlated with, and the keys that make a repeated call read-only.
import type { Migration } from "../migrations.ts";

export const goals: Migration = {
  version: 3,
  name: "goals",
  statements: [
    `CREATE TABLE goals (
      goal_id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, objective TEXT NOT NULL, lifecycle TEXT NOT NULL,
      revision INTEGER NOT NULL, plan TEXT NOT NULL, controller_agent_id TEXT, terminal_reason TEXT,
      created_at_unix_ms INTEGER NOT NULL, updated_at_unix_ms INTEGER NOT NULL, terminal_at_unix_ms INTEGER) STRICT`,
    "CREATE INDEX goals_by_owner ON goals (owner, lifecycle, updated_at_unix_ms DESC)",
    `CREATE TABLE goal_correlations (
      goal_id TEXT NOT NULL REFERENCES goals(goal_id), kind TEXT NOT NULL, reference_id TEXT NOT NULL,
      created_at_unix_ms INTEGER NOT NULL, PRIMARY KEY (goal_id, kind, reference_id)) STRICT, WITHOUT ROWID`,
    "CREATE INDEX goals_by_reference ON goal_correlations (kind, reference_id)",
    `CREATE TABLE idempotency (
      owner TEXT NOT NULL, operation TEXT NOT NULL, key_digest TEXT NOT NULL, request_digest TEXT NOT NULL,
      resource TEXT NOT NULL, created_at INTEGER NOT NULL,
      PRIMARY KEY (owner, operation, key_digest)) STRICT, WITHOUT ROWID`,
  ],
};
