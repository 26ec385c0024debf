// The database's shape, changed forward only: each numbered step runs once, in order, in its own transaction.
// A database that knows a step we do not know was written by a newer program and is left alone.
import type { Database } from "bun:sqlite";
import { Failure } from "../base/failure.ts";
import type { ServerCode } from "./codes.ts";
import { identities } from "./migrations/001-identities.ts";
import { sessions } from "./migrations/002-sessions.ts";
import { goals } from "./migrations/003-goals.ts";
import { memory } from "./migrations/004-memory.ts";
import { agents } from "./migrations/010-agents.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}

/** Every step, ascending. 001–009 are the server's own, 010–019 the agent tasks' and runs'. */
export const migrations: readonly Migration[] = [identities, sessions, goals, memory, agents];

const applicationId = 0x50726f63;

/** Refuses a database of another or of a newer program by reading only; gives the steps it has. */
export function stepsOf(db: Database): ReadonlySet<number> {
  const owner = db.query<{ application_id: number }, []>("PRAGMA application_id").get()?.application_id ?? 0;
  const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (owner !== applicationId && (owner !== 0 || tables.length > 0)) throw new Failure<ServerCode>("store_foreign");
  if (!tables.some((table) => table.name === "migrations")) return new Set();
  const rows = db.query<{ version: number }, []>("SELECT version FROM migrations").all();
  const known = new Set(migrations.map((step) => step.version));
  for (const { version } of rows) if (!known.has(version)) throw new Failure<ServerCode>("store_newer");
  return new Set(rows.map((row) => row.version));
}

/** Applies the steps that are missing; `upTo` stops early and exists for tests of older databases. */
export function migrate(db: Database, wallMs: number, upTo = Number.POSITIVE_INFINITY): void {
  const done = stepsOf(db);
  if (done.size === 0) {
    db.run(`PRAGMA application_id = ${applicationId}`);
    db.run(
      "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
    );
  }
  for (const step of migrations) {
    if (done.has(step.version) || step.version > upTo) continue;
    db.transaction(() => {
      for (const statement of step.statements) db.run(statement);
      db.query("INSERT INTO migrations (version, name, applied_at) VALUES (?, ?, ?)").run(
        step.version,
        step.name,
        wallMs,
      );
    })();
  }
}
