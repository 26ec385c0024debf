// Who is asking: resolved once from the bearer, before a byte of the body is looked at.
// Two tokens of one user are one authority (`stable`, `owner`); another user shares no row with it.
import { sha256Hex } from "../base/bytes.ts";
import type { Scope } from "../contract/scopes.ts";

export interface Principal {
  readonly kind: "bootstrap" | "pat" | "agent";
  /** Id of the token row; "bootstrap" for the server's own token. */
  readonly tokenId: string;
  readonly userId: string | null;
  readonly username: string | null;
  /** Bootstrap, or a user whose role is admin. */
  readonly admin: boolean;
  readonly scopes: ReadonlySet<Scope>;
  /** The stable authority string, the input of run ids: `bootstrap:server-bootstrap` or `managed-user:<id>`. */
  readonly stable: string;
  /** The key under which durable rows are owned: `wc_commprincipal_<64 hex>`. */
  readonly owner: string;
  /** For an agent token: the only client_id it may register as. */
  readonly allowedClientId: string | null;
}

/** The owner key of an authority. */
export function ownerKey(stable: string): string {
  return `wc_commprincipal_${sha256Hex(`webcodex-communication-principal-v1\0${stable}`)}`;
}

/** The first scope the principal lacks, or null. */
export function missingScope(principal: Principal, scopes: readonly Scope[]): Scope | null {
  for (const scope of scopes) if (!principal.scopes.has(scope)) return scope;
  return null;
}
