// Small remembered texts of one project and one owner, changed by compare-and-swap. A revision belongs to one
// incarnation of a key: after a deletion the number goes on, so a revision seen before never fits what came later.
import { sha256Hex } from "../base/bytes.ts";
import { serverLimits } from "./limits.ts";
import type { Database } from "./store.ts";

export interface Memory {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  readonly sha256: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** Whose memories, and of which project. */
export interface MemoryPlace {
  readonly owner: string;
  readonly project: string;
}

export type Changed =
  | { readonly changed: "yes"; readonly revision: number; readonly created: boolean }
  | { readonly changed: "conflict"; readonly current: number | null }
  | { readonly changed: "full" };

interface Row extends Omit<Memory, "value"> {
  readonly value: string | null;
}

function rowOf(db: Database, place: MemoryPlace, key: string): Row | null {
  return db
    .query<Row, [string, string, string]>(
      "SELECT key, value, revision, sha256, created_at, updated_at FROM memories WHERE owner = ? AND project = ? AND key = ?",
    )
    .get(place.owner, place.project, key);
}

/** The memory under this key, or null where there is none (any more). */
export function memoryOf(db: Database, place: MemoryPlace, key: string): Memory | null {
  const row = rowOf(db, place, key);
  return row === null || row.value === null ? null : (row as Memory);
}

/** The memories whose key or value holds the text (ASCII letters of either case), by key, after `after`. */
export function searchMemories(
  db: Database,
  place: MemoryPlace,
  wanted: { readonly text: string; readonly after: string; readonly limit: number },
): Memory[] {
  // instr() and not LIKE: what a caller asks for holds no wildcard.
  return db
    .query<Memory, [string, string, string, string, number]>(
      `SELECT key, value, revision, sha256, created_at, updated_at FROM memories
       WHERE owner = ?1 AND project = ?2 AND value IS NOT NULL AND key > ?3
         AND (instr(lower(key), lower(?4)) > 0 OR instr(lower(value), lower(?4)) > 0)
       ORDER BY key LIMIT ?5`,
    )
    .all(place.owner, place.project, wanted.after, wanted.text, wanted.limit);
}

/** Stores the value if the key still has the expected revision; `expected` null means it must be absent. */
export function setMemory(
  db: Database,
  place: MemoryPlace,
  wish: { readonly key: string; readonly value: string; readonly expected: number | null; readonly nowMs: number },
): Changed {
  const row = rowOf(db, place, wish.key);
  const current = row === null || row.value === null ? null : row.revision;
  if (current !== wish.expected) return { changed: "conflict", current };
  if (row === null && countOf(db, place) >= serverLimits.maxMemories) return { changed: "full" };
  const revision = (row?.revision ?? 0) + 1;
  db.query(
    `INSERT INTO memories (owner, project, key, value, revision, sha256, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
     ON CONFLICT (owner, project, key) DO UPDATE SET value = ?4, revision = ?5, sha256 = ?6, updated_at = ?7,
       created_at = CASE WHEN value IS NULL THEN ?7 ELSE created_at END`,
  ).run(place.owner, place.project, wish.key, wish.value, revision, sha256Hex(wish.value), wish.nowMs);
  return { changed: "yes", revision, created: current === null };
}

/** Deletes the value if the key still has the expected revision; the key keeps its number. */
export function deleteMemory(
  db: Database,
  place: MemoryPlace,
  wish: { readonly key: string; readonly expected: number; readonly nowMs: number },
): Changed {
  const current = memoryOf(db, place, wish.key)?.revision ?? null;
  if (current !== wish.expected) return { changed: "conflict", current };
  const revision = wish.expected + 1;
  db.query(
    "UPDATE memories SET value = NULL, sha256 = NULL, revision = ?, updated_at = ? WHERE owner = ? AND project = ? AND key = ?",
  ).run(revision, wish.nowMs, place.owner, place.project, wish.key);
  return { changed: "yes", revision, created: false };
}

/** Keys that were deleted count too: each keeps a row for its number. */
function countOf(db: Database, place: MemoryPlace): number {
  return (
    db
      .query<{ n: number }, [string, string]>("SELECT count(*) AS n FROM memories WHERE owner = ? AND project = ?")
      .get(place.owner, place.project)?.n ?? 0
  );
}
