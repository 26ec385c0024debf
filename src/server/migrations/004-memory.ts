// Small remembered texts of one project: every change raises the revision, a deleted key keeps its last one.
import type { Migration } from "../migrations.ts";

export const memory: Migration = {
  version: 4,
  name: "memory",
  statements: [
    `CREATE TABLE memories (
      owner TEXT NOT NULL, project TEXT NOT NULL, key TEXT NOT NULL, value TEXT, revision INTEGER NOT NULL,
      sha256 TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
      PRIMARY KEY (owner, project, key)) STRICT, WITHOUT ROWID`,
  ],
};
