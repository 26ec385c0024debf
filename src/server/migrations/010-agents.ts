// Durable agents, their tasks and attempts, short references to attempts, and the coding run each attempt may have.
import type { Migration } from "../migrations.ts";

export const agents: Migration = {
  version: 10,
  name: "agents",
  statements: [
    `CREATE TABLE agent_identities (
      agent_id TEXT PRIMARY KEY, owner TEXT NOT NULL, handle TEXT NOT NULL, display_name TEXT NOT NULL,
      description TEXT NOT NULL, specialty_labels TEXT NOT NULL, created_at_unix_ms INTEGER NOT NULL) STRICT`,
    "CREATE INDEX agents_by_owner ON agent_identities (owner, created_at_unix_ms)",
    `CREATE TABLE agent_tasks (
      task_id TEXT PRIMARY KEY, owner TEXT NOT NULL, assignee_agent_id TEXT, title TEXT NOT NULL,
      instruction TEXT NOT NULL, source_conversation_id TEXT, source_message_id TEXT, referenced_project_id TEXT,
      state TEXT NOT NULL, created_at_unix_ms INTEGER NOT NULL, updated_at_unix_ms INTEGER NOT NULL,
      terminal_at_unix_ms INTEGER) STRICT`,
    "CREATE INDEX tasks_by_owner ON agent_tasks (owner, updated_at_unix_ms DESC, task_id)",
    `CREATE TABLE agent_task_attempts (
      attempt_id TEXT PRIMARY KEY, task_id TEXT NOT NULL REFERENCES agent_tasks(task_id),
      attempt_number INTEGER NOT NULL, assignee_agent_id TEXT NOT NULL, fence TEXT NOT NULL, state TEXT NOT NULL,
      lease_expires_at_unix_ms INTEGER NOT NULL, generation INTEGER NOT NULL, created_at_unix_ms INTEGER NOT NULL,
      terminal_at_unix_ms INTEGER, terminal_result TEXT, terminal_reason TEXT,
      UNIQUE (task_id, attempt_number)) STRICT`,
    "CREATE UNIQUE INDEX one_active_attempt ON agent_task_attempts (task_id) WHERE state = 'active'",
    `CREATE TABLE agent_task_attempt_references (
      owner TEXT NOT NULL, number INTEGER NOT NULL, attempt_id TEXT NOT NULL, generation INTEGER NOT NULL,
      PRIMARY KEY (owner, number), UNIQUE (owner, attempt_id, generation)) STRICT, WITHOUT ROWID`,
    `CREATE TABLE agent_task_coding_runs (
      run_id TEXT PRIMARY KEY, attempt_id TEXT NOT NULL UNIQUE REFERENCES agent_task_attempts(attempt_id),
      task_id TEXT NOT NULL, project TEXT NOT NULL, provider_id TEXT NOT NULL, provider_instance_id TEXT NOT NULL,
      intent_fingerprint TEXT NOT NULL, authority_fingerprint TEXT NOT NULL, dispatch_state TEXT NOT NULL,
      run_state TEXT, execution_state TEXT, revision INTEGER NOT NULL, terminal TEXT,
      created_at_unix_ms INTEGER NOT NULL) STRICT`,
  ],
};
