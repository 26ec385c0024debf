// Users, tokens (digests only) and the receipts of what was served.
import type { Migration } from "../migrations.ts";

export const identities: Migration = {
  version: 1,
  name: "identities",
  statements: [
    `CREATE TABLE users (
      user_id TEXT PRIMARY KEY, username TEXT NOT NULL UNIQUE, display_name TEXT, role TEXT NOT NULL,
      disabled_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`,
    `CREATE TABLE tokens (
      token_id TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
      user_id TEXT NOT NULL REFERENCES users(user_id), scopes TEXT NOT NULL, allowed_client_id TEXT,
      created_at INTEGER NOT NULL, expires_at INTEGER, revoked_at INTEGER) STRICT`,
    `CREATE TABLE tool_receipts (
      receipt_id INTEGER PRIMARY KEY, token_id TEXT NOT NULL, tool TEXT NOT NULL, project TEXT NOT NULL,
      path TEXT NOT NULL, text_sha256 TEXT NOT NULL, served_at INTEGER NOT NULL) STRICT`,
  ],
};
