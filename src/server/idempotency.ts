// A repeated call with the same key and the same request reads what the first one made; another request conflicts.
// Runs inside the caller's write, so that the key and the row it names are committed together.
import type { Database } from "bun:sqlite";
import { sha256Hex } from "../base/bytes.ts";
import { canonicalJson } from "../base/json.ts";

export interface KeyedRequest {
  readonly owner: string;
  readonly operation: string;
  readonly key: string;
  /** Everything that decides what the call means; compared by digest of its canonical JSON. */
  readonly request: unknown;
}

export type KeyedOutcome =
  | { readonly seen: "new" | "conflict" }
  | { readonly seen: "replay"; readonly resource: string };

export function lookUpKey(db: Database, keyed: KeyedRequest): KeyedOutcome {
  const row = db
    .query<{ request_digest: string; resource: string }, [string, string, string]>(
      "SELECT request_digest, resource FROM idempotency WHERE owner = ? AND operation = ? AND key_digest = ?",
    )
    .get(keyed.owner, keyed.operation, sha256Hex(keyed.key));
  if (row === null) return { seen: "new" };
  if (row.request_digest !== sha256Hex(canonicalJson(keyed.request))) return { seen: "conflict" };
  return { seen: "replay", resource: row.resource };
}

export function rememberKey(db: Database, keyed: KeyedRequest, made: { resource: string; wallMs: number }): void {
  db.query(
    "INSERT INTO idempotency (owner, operation, key_digest, request_digest, resource, created_at) VALUES (?, ?, ?, ?, ?, ?)",
  ).run(
    keyed.owner,
    keyed.operation,
    sha256Hex(keyed.key),
    sha256Hex(canonicalJson(keyed.request)),
    made.resource,
    made.wallMs,
  );
}
