// Keeps a secret's bytes where only one line of code at a time sees them. Strings, JSON and inspection of a
// Secret say "[secret]"; comparison takes constant time; wiping overwrites the bytes.
import { decodeUtf8, equalBytes, sha256Hex, utf8 } from "./bytes.ts";
import { Failure } from "./failure.ts";
import { type RandomBytes, systemRandom } from "./random.ts";

const shown = "[secret]";

export class Secret {
  readonly #bytes: Uint8Array;
  #wiped = false;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Takes a copy; the caller's bytes stay the caller's to wipe. */
  static from(value: string | Uint8Array): Secret {
    return new Secret(typeof value === "string" ? utf8(value) : new Uint8Array(value));
  }

  static random(length: number, random: RandomBytes = systemRandom): Secret {
    return new Secret(random(length));
  }

  /** Shows the bytes to `use` and to nothing else; `use` must not keep them. */
  expose<T>(use: (bytes: Uint8Array) => T): T {
    this.#refuseWiped();
    return use(this.#bytes);
  }

  exposeText<T>(use: (text: string) => T): T {
    this.#refuseWiped();
    const text = decodeUtf8(this.#bytes);
    if (text === null) throw new Failure("secret_not_text");
    return use(text);
  }

  matches(other: Secret | Uint8Array): boolean {
    if (this.#wiped) return false;
    if (other instanceof Secret) return !other.#wiped && equalBytes(this.#bytes, other.#bytes);
    return equalBytes(this.#bytes, other);
  }

  /** SHA-256 in hexadecimal: what registries keep instead of the secret. */
  digest(): string {
    this.#refuseWiped();
    return sha256Hex(this.#bytes);
  }

  wipe(): void {
    this.#bytes.fill(0);
    this.#wiped = true;
  }

  #refuseWiped(): void {
    if (this.#wiped) throw new Failure("secret_wiped");
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return shown;
  }
}
