// The bootstrap in a private file: created exclusively, verified on the descriptor, removed at stop and rotation.
import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { decodeUtf8, toHex, utf8 } from "../base/bytes.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { readPrivateFile } from "../base/private-files.ts";
import { type RandomBytes, systemRandom } from "../base/random.ts";
import { effectiveUserId } from "../base/self.ts";
import { Bootstrap, type BootstrapAuthority } from "./bootstrap.ts";
import type { GatewayCode } from "./codes.ts";
import { drawBytes } from "./credentials.ts";
import { gatewayLimits } from "./limits.ts";

/** What such a file is called. */
export const bootstrapName = /^bootstrap-[0-9a-f]{32}\.credential$/;

export interface FileFacts {
  readonly isFile: boolean;
  readonly mode: number;
  readonly uid: number;
}

/** What a test may put in the place of the system. */
export interface FileSeams {
  readonly random?: RandomBytes;
  readonly inspect?: (fd: number) => FileFacts;
  readonly write?: (fd: number, bytes: Uint8Array) => void;
  readonly remove?: (path: string) => void;
}

/** A handle on the file; path and content appear in nothing printed. */
export class BootstrapFile {
  readonly #path: string;
  generation: string;

  constructor(path: string, generation: string) {
    this.#path = path;
    this.generation = generation;
  }
  exposePath<T>(use: (path: string) => T): T {
    return use(this.#path);
  }
  remove(): void {
    if (this.generation === "") return;
    this.generation = "";
    removeQuietly(this.#path);
  }
  toString(): string {
    return "BootstrapFile([redacted])";
  }
  toJSON(): string {
    return this.toString();
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** A real folder of this user, mode exactly 0700; anything else is refused before a byte is written. */
export function checkRuntimeFolder(folder: string, uid = effectiveUserId()): void {
  let found: ReturnType<typeof lstatSync>;
  try {
    found = lstatSync(folder);
  } catch (error) {
    throw new Failure<GatewayCode>("credential_file", { cause: error });
  }
  if (!found.isDirectory() || (found.mode & 0o777) !== 0o700 || found.uid !== uid) throw denied();
}

export function writeBootstrapFile(folder: string, bootstrap: Bootstrap, seams: FileSeams = {}): BootstrapFile {
  checkRuntimeFolder(folder);
  for (let attempt = 0; attempt < gatewayLimits.drawAttempts; attempt++) {
    const name = toHex(drawBytes(16, seams.random ?? systemRandom));
    const path = join(folder, `bootstrap-${name}.credential`);
    const fd = openExclusive(path);
    if (fd === null) continue;
    try {
      fill(fd, bootstrap, seams);
    } catch (error) {
      removeQuietly(path);
      throw error instanceof Failure ? error : new Failure<GatewayCode>("credential_file", { cause: error });
    } finally {
      closeSync(fd);
    }
    return new BootstrapFile(path, bootstrap.generation);
  }
  throw new Failure<GatewayCode>("credential_collision");
}

/** Reads the file's value and lets the authority check it. */
export function useBootstrapFile(file: BootstrapFile, authority: BootstrapAuthority): Bootstrap {
  if (file.generation !== authority.generation) throw new Failure<GatewayCode>("invalid_bootstrap");
  const bootstrap = readBootstrap(
    file.exposePath((path) => path),
    authority.generation,
  );
  authority.check(bootstrap);
  return bootstrap;
}

/** The value in the file at `path`; the bytes read are wiped. */
export function readBootstrap(path: string, generation: string): Bootstrap {
  let bytes: Uint8Array;
  try {
    bytes = readPrivateFile(path, { maxBytes: gatewayLimits.secretBytes * 2 });
  } catch (error) {
    const missing = error instanceof Failure && error.code === "private_file_missing";
    throw new Failure<GatewayCode>(missing ? "credential_file" : "invalid_bootstrap", { cause: error });
  }
  const text = decodeUtf8(bytes);
  bytes.fill(0);
  return Bootstrap.fromText(generation, text ?? "");
}

/** New file first, old file gone before the new digest holds; a failure changes nothing. */
export function rotateBootstrapFile(
  authority: BootstrapAuthority,
  old: { readonly bootstrap: Bootstrap; readonly file: BootstrapFile },
  options: { readonly folder: string } & FileSeams,
): { bootstrap: Bootstrap; file: BootstrapFile } {
  authority.check(old.bootstrap);
  useBootstrapFile(old.file, authority);
  const bootstrap = Bootstrap.draw(authority.generation, options.random);
  const file = writeBootstrapFile(options.folder, bootstrap, options);
  try {
    authority.check(old.bootstrap);
    old.file.exposePath(options.remove ?? unlinkSync);
  } catch (error) {
    file.remove();
    throw error instanceof Failure ? error : new Failure<GatewayCode>("credential_file", { cause: error });
  }
  authority.replace(old.bootstrap, bootstrap);
  old.file.generation = "";
  return { bootstrap, file };
}

function openExclusive(path: string): number | null {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  try {
    return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return null;
    throw new Failure<GatewayCode>("credential_file", { cause: error });
  }
}

function fill(fd: number, bootstrap: Bootstrap, seams: FileSeams): void {
  const encoded = bootstrap.exposeText(utf8);
  try {
    if (seams.write !== undefined) seams.write(fd, encoded);
    else if (writeSync(fd, encoded) !== encoded.length) throw new Failure<GatewayCode>("credential_file");
    fsyncSync(fd);
  } finally {
    encoded.fill(0);
  }
  const facts = (seams.inspect ?? inspectDescriptor)(fd);
  if (!facts.isFile || (facts.mode & 0o777) !== 0o600 || facts.uid !== effectiveUserId()) throw denied();
}

function inspectDescriptor(fd: number): FileFacts {
  const found = fstatSync(fd);
  return { isFile: found.isFile(), mode: found.mode, uid: found.uid };
}

function denied(): Failure<GatewayCode> {
  return new Failure<GatewayCode>("permission_denied");
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is already gone; what matters is that nothing is left.
  }
}
