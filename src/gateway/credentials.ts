// The registry of client credentials: keeps digests and rights, never secrets. One live channel a credential;
// a record leaves the registry before its channel is told, and revocation waits until that channel is gone.
import { equalBytes, fromHex, sha256Hex, toHex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { type RandomBytes, systemRandom } from "../base/random.ts";
import { Secret } from "../base/secret.ts";
import { isClientId, readBearer } from "./bearer.ts";
import type { GatewayCode } from "./codes.ts";
import { gatewayLimits } from "./limits.ts";
import type { Rights } from "./permissions.ts";

interface CredentialRecord {
  readonly clientId: string;
  readonly rights: Rights;
  live: Grant | null;
}

/** What a successful check gives: the channel is taken until `release`. */
export class Grant {
  readonly clientId: string;
  readonly rights: Rights;
  readonly runtimeId: string;
  readonly generation: string;
  /** Names the credential in lists and audits; no part of the secret. */
  readonly credentialId: string;
  #revoked = false;
  #onRevoked: (() => void) | null = null;
  readonly #released = Promise.withResolvers<void>();
  readonly #free: () => void;

  constructor(
    facts: Pick<Grant, "clientId" | "rights" | "runtimeId" | "generation" | "credentialId">,
    free: () => void,
  ) {
    this.clientId = facts.clientId;
    this.rights = facts.rights;
    this.runtimeId = facts.runtimeId;
    this.generation = facts.generation;
    this.credentialId = facts.credentialId;
    this.#free = free;
  }

  /** `act` runs at once when the credential was revoked before it was set. */
  set onRevoked(act: () => void) {
    this.#onRevoked = act;
    if (this.#revoked) act();
  }

  revoke(): Promise<void> {
    this.#revoked = true;
    this.#onRevoked?.();
    return this.#released.promise;
  }

  release(): void {
    this.#free();
    this.#released.resolve();
  }
}

/** A secret the operator may put into one child's environment. Prints and serialises as a redaction mark. */
export class ClientCredential {
  readonly clientId: string;
  readonly digest: string;
  readonly #secret: Secret;
  revoked = false;

  constructor(clientId: string, secret: Secret) {
    this.clientId = clientId;
    this.#secret = secret;
    this.digest = secret.digest();
  }

  get credentialId(): string {
    return this.digest.slice(0, 16);
  }

  /** Shows the bearer to `use`, which hands it to one child or the private channel to one. */
  exposeBearer<T>(use: (bearer: string) => T): T {
    return this.#secret.expose((bytes) => use(`${this.clientId}.${toHex(bytes)}`));
  }

  wipe(): void {
    this.#secret.wipe();
  }

  toString(): string {
    return "ClientCredential([redacted])";
  }
  toJSON(): string {
    return this.toString();
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

export type AuthenticationFault = "unauthenticated" | "unauthorized" | "busy";

export class CredentialRegistry {
  readonly #records = new Map<string, CredentialRecord>();
  readonly runtimeId: string;
  readonly generation: string;
  readonly #random: RandomBytes;

  constructor(options: { runtimeId: string; generation: string; random?: RandomBytes }) {
    this.runtimeId = options.runtimeId;
    this.generation = options.generation;
    this.#random = options.random ?? systemRandom;
  }

  get size(): number {
    return this.#records.size;
  }

  issue(clientId: string, rights: Rights): ClientCredential {
    if (!isClientId(clientId)) throw new Failure<GatewayCode>("invalid_client");
    for (let attempt = 0; attempt < gatewayLimits.drawAttempts; attempt++) {
      const bytes = drawBytes(gatewayLimits.secretBytes, this.#random);
      const digest = sha256Hex(bytes);
      if (this.#records.has(digest)) {
        bytes.fill(0);
        continue;
      }
      const secret = Secret.from(bytes);
      bytes.fill(0);
      this.#records.set(digest, { clientId, rights: new Set(rights), live: null });
      return new ClientCredential(clientId, secret);
    }
    throw new Failure<GatewayCode>("credential_collision");
  }

  authenticate(bearer: string): Grant | AuthenticationFault {
    const presented = readBearer(bearer);
    if (presented === null) return "unauthenticated";
    const record = this.#records.get(presented.digest);
    if (record === undefined) return "unauthenticated";
    if (record.clientId !== presented.clientId) return "unauthorized";
    return this.take(presented.digest);
  }

  /** Takes the channel of a known credential; the private socket of a client comes here without a bearer. */
  take(digest: string): Grant | AuthenticationFault {
    const record = this.#records.get(digest);
    if (record === undefined) return "unauthenticated";
    if (record.live !== null) return "busy";
    const grant = new Grant(
      {
        clientId: record.clientId,
        rights: record.rights,
        runtimeId: this.runtimeId,
        generation: this.generation,
        credentialId: digest.slice(0, 16),
      },
      () => {
        record.live = null;
      },
    );
    record.live = grant;
    return grant;
  }

  async revoke(credential: ClientCredential): Promise<void> {
    if (credential.revoked) throw new Failure<GatewayCode>("credential_revoked");
    await this.revokeDigest(credential.digest);
    credential.revoked = true;
    credential.wipe();
  }

  async revokeDigest(digest: string): Promise<void> {
    const record = this.#records.get(digest);
    if (record === undefined) throw new Failure<GatewayCode>("credential_revoked");
    this.#records.delete(digest);
    await record.live?.revoke();
  }

  /** The replacement comes first; the old one is gone before it is handed over. */
  async rotate(old: ClientCredential, clientId: string, rights: Rights): Promise<ClientCredential> {
    const replacement = this.issue(clientId, rights);
    try {
      await this.revoke(old);
    } catch (error) {
      await this.revoke(replacement);
      throw error;
    }
    return replacement;
  }

  async revokeAll(): Promise<void> {
    const records = [...this.#records.values()];
    this.#records.clear();
    await Promise.all(records.map((record) => record.live?.revoke()));
  }

  list(): Array<{ credential: string; client_id: string; rights: string[]; live: boolean }> {
    return [...this.#records].map(([digest, record]) => ({
      credential: digest.slice(0, 16),
      client_id: record.clientId,
      rights: [...record.rights],
      live: record.live !== null,
    }));
  }

  digestsOf(name: { readonly clientId?: string; readonly credentialId?: string }): string[] {
    return [...this.#records]
      .filter(([digest, record]) => record.clientId === name.clientId || digest.slice(0, 16) === name.credentialId)
      .map(([digest]) => digest);
  }
}

/** Fresh bytes, or a fixed code when the source fails or gives too few. */
export function drawBytes(length: number, random: RandomBytes): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = random(length);
  } catch (error) {
    throw new Failure<GatewayCode>("random_source", { cause: error });
  }
  if (bytes.length !== length) throw new Failure<GatewayCode>("random_source");
  return bytes;
}

/** Digests in hexadecimal compared without telling where they differ. */
export function sameDigest(left: string, right: string): boolean {
  const a = fromHex(left);
  const b = fromHex(right);
  return a !== null && b !== null && equalBytes(a, b);
}
