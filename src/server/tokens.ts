// Tokens: shown once when made, kept as SHA-256 digests, looked up by digest on each request, so that a revocation
// by another process counts from the next request on.
import { sha256Hex, toHex } from "../base/bytes.ts";
import type { RandomBytes } from "../base/random.ts";
import type { Secret } from "../base/secret.ts";
import { newId } from "../contract/ids.ts";
import { knownScopes, type Scope } from "../contract/scopes.ts";
import { serverLimits } from "./limits.ts";
import { ownerKey, type Principal } from "./principal.ts";
import type { Database } from "./store.ts";
import type { User } from "./users.ts";

export interface NewToken {
  readonly kind: "pat" | "agent";
  readonly name: string;
  readonly user: User;
  readonly scopes: readonly Scope[];
  readonly allowedClientId: string | null;
  readonly expiresAt: number | null;
}

export interface MadeToken {
  readonly token: string;
  readonly tokenPrefix: string;
  readonly tokenId: string;
}

/** Makes a token; the plain text exists in the returned value only. "full" makes none. */
export function addToken(
  db: Database,
  wanted: NewToken,
  options: { readonly random: RandomBytes; readonly nowSeconds: number },
): MadeToken | "full" {
  const total = db.query<{ n: number }, []>("SELECT count(*) AS n FROM tokens").get()?.n ?? 0;
  if (total >= serverLimits.maxTokens) return "full";
  const token = `${wanted.kind === "agent" ? "wc_agent_" : "wc_pat_"}${toHex(options.random(32))}`;
  const made = {
    token,
    tokenPrefix: token.slice(0, serverLimits.tokenPrefixChars),
    tokenId: newId("token", options.random),
  };
  db.query(
    `INSERT INTO tokens (token_id, digest, prefix, kind, name, user_id, scopes, allowed_client_id, created_at, expires_at, revoked_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)`,
  ).run(
    made.tokenId,
    sha256Hex(token),
    made.tokenPrefix,
    wanted.kind,
    wanted.name,
    wanted.user.id,
    wanted.scopes.join(" "),
    wanted.allowedClientId,
    options.nowSeconds,
    wanted.expiresAt,
  );
  return made;
}

interface TokenRow {
  readonly token_id: string;
  readonly kind: "pat" | "agent";
  readonly user_id: string;
  readonly username: string;
  readonly role: string;
  readonly scopes: string;
  readonly allowed_client_id: string | null;
}

const bootstrapStable = "bootstrap:server-bootstrap";

/** The server's own token: every scope, admin. */
export const bootstrapPrincipal: Principal = {
  kind: "bootstrap",
  tokenId: "bootstrap",
  userId: null,
  username: null,
  admin: true,
  scopes: new Set(knownScopes),
  stable: bootstrapStable,
  owner: ownerKey(bootstrapStable),
  allowedClientId: null,
};

/** Who this bearer is, or null. Compared by digest only: the database holds nothing that could be replayed. */
export function principalOf(
  db: Database,
  bearer: string,
  options: { readonly bootstrap: Secret; readonly nowSeconds: number },
): Principal | null {
  if (options.bootstrap.matches(new TextEncoder().encode(bearer))) return bootstrapPrincipal;
  const row = db
    .query<TokenRow, [string, number]>(
      `SELECT t.token_id, t.kind, t.user_id, u.username, u.role, t.scopes, t.allowed_client_id
       FROM tokens t JOIN users u ON u.user_id = t.user_id
       WHERE t.digest = ? AND t.revoked_at IS NULL AND u.disabled_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?)`,
    )
    .get(sha256Hex(bearer), options.nowSeconds);
  if (row === null) return null;
  const stable = `managed-user:${row.user_id}`;
  return {
    kind: row.kind,
    tokenId: row.token_id,
    userId: row.user_id,
    username: row.username,
    admin: row.role === "admin" && row.kind === "pat",
    scopes: new Set(row.scopes === "" ? [] : (row.scopes.split(" ") as Scope[])),
    stable,
    owner: ownerKey(stable),
    allowedClientId: row.allowed_client_id,
  };
}

/** Whether what was opened with this token may stay open: the same rule as for a new request. */
export function tokenStands(db: Database, tokenId: string, nowSeconds: number): boolean {
  return (
    db
      .query<{ one: number }, [string, number]>(
        `SELECT 1 AS one FROM tokens t JOIN users u ON u.user_id = t.user_id
         WHERE t.token_id = ? AND t.revoked_at IS NULL AND u.disabled_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?)`,
      )
      .get(tokenId, nowSeconds) !== null
  );
}

export interface TokenFacts {
  readonly token_id: string;
  readonly token_prefix: string;
  readonly kind: string;
  readonly name: string;
  readonly username: string;
  readonly scopes: readonly string[];
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  /** What asking with it would find now. */
  readonly state: "live" | "expired" | "revoked";
}

/** All tokens without anything that could be used as one. */
export function listTokens(db: Database, nowSeconds: number): TokenFacts[] {
  const rows = db
    .query<Omit<TokenFacts, "scopes" | "state"> & { scopes: string }, []>(
      `SELECT t.token_id, t.prefix AS token_prefix, t.kind, t.name, u.username, t.scopes, t.created_at, t.expires_at, t.revoked_at
       FROM tokens t JOIN users u ON u.user_id = t.user_id ORDER BY t.created_at, t.token_id`,
    )
    .all();
  return rows.map((row) => ({
    ...row,
    scopes: row.scopes === "" ? [] : row.scopes.split(" "),
    state: stateOf(row, nowSeconds),
  }));
}

function stateOf(row: Pick<TokenFacts, "expires_at" | "revoked_at">, nowSeconds: number): TokenFacts["state"] {
  if (row.revoked_at !== null) return "revoked";
  return row.expires_at === null || row.expires_at > nowSeconds ? "live" : "expired";
}

/** Ends a token; false when there is none of that id. */
export function revokeToken(db: Database, tokenId: string, nowSeconds: number): boolean {
  return (
    db.query("UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE token_id = ?").run(nowSeconds, tokenId)
      .changes > 0
  );
}
