// The operator's capability of one gateway generation: never a client's bearer, refused everywhere else.
import { toHex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { type RandomBytes, systemRandom } from "../base/random.ts";
import { Secret } from "../base/secret.ts";
import { decodeSecret } from "./bearer.ts";
import type { GatewayCode } from "./codes.ts";
import { drawBytes, sameDigest } from "./credentials.ts";
import { gatewayLimits } from "./limits.ts";

/** One value of the capability. Prints and serialises as a redaction mark. */
export class Bootstrap {
  readonly generation: string;
  readonly digest: string;
  readonly #secret: Secret;
  revoked = false;

  constructor(generation: string, secret: Secret) {
    this.generation = generation;
    this.#secret = secret;
    this.digest = secret.digest();
  }

  static draw(generation: string, random: RandomBytes = systemRandom): Bootstrap {
    const bytes = drawBytes(gatewayLimits.secretBytes, random);
    const secret = Secret.from(bytes);
    bytes.fill(0);
    return new Bootstrap(generation, secret);
  }

  /** From what a bootstrap file or the control socket carried. */
  static fromText(generation: string, text: string): Bootstrap {
    const bytes = decodeSecret(text);
    if (bytes === null) throw new Failure<GatewayCode>("invalid_bootstrap");
    const secret = Secret.from(bytes);
    bytes.fill(0);
    return new Bootstrap(generation, secret);
  }

  secretDigest(): string {
    return this.#secret.digest();
  }
  exposeText<T>(use: (text: string) => T): T {
    return this.#secret.expose((bytes) => use(toHex(bytes)));
  }
  invalidate(): void {
    this.revoked = true;
    this.#secret.wipe();
  }
  toString(): string {
    return "Bootstrap([redacted])";
  }
  toJSON(): string {
    return this.toString();
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** Holds the digest of the one current bootstrap and checks every use of it. */
export class BootstrapAuthority {
  readonly generation: string;
  #expected: string;

  constructor(generation: string, first: Bootstrap) {
    this.generation = generation;
    this.#expected = first.digest;
  }

  /** Not revoked, generation, stored digest, digest of the secret itself. */
  check(bootstrap: Bootstrap): void {
    const valid =
      !bootstrap.revoked &&
      bootstrap.generation === this.generation &&
      sameDigest(bootstrap.digest, this.#expected) &&
      sameDigest(bootstrap.secretDigest(), this.#expected);
    if (!valid) throw new Failure<GatewayCode>("invalid_bootstrap");
  }

  /** Draws first; the old value is dead before the new one is returned. */
  rotate(old: Bootstrap, random: RandomBytes = systemRandom): Bootstrap {
    const fresh = Bootstrap.draw(this.generation, random);
    this.check(old);
    this.replace(old, fresh);
    return fresh;
  }

  replace(old: Bootstrap, fresh: Bootstrap): void {
    this.#expected = fresh.digest;
    old.invalidate();
  }
}
