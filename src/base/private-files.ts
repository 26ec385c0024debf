// Files and folders that belong to one person: opened without following links, judged on the open descriptor and
// only then read; born 0600 in folders 0700; replaced whole or not at all. Refuses what anybody else could have
// made, could read, or could swap.
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from "node:fs";
import { sha256Hex, utf8 } from "./bytes.ts";
import { Failure, systemCodeOf } from "./failure.ts";
import { effectiveUserId } from "./self.ts";
import { windowsPathPrivacy } from "./windows-privacy.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_APPEND } = constants;
// Windows has none of these three; there the identity checks below stand in for them.
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
const O_DIRECTORY = constants.O_DIRECTORY ?? 0;
const posix = process.platform !== "win32";

export interface ReadLimit {
  readonly maxBytes: number;
}

/** True when the entry is ours alone: own user, nothing for group and others. */
function isOwn(found: Stats, path: string): boolean {
  if (!posix) return windowsPathPrivacy().isPrivate(path);
  return found.uid === effectiveUserId() && (found.mode & 0o077) === 0;
}

/** Makes a folder that did not exist, mode 0700 whatever the umask. Its parent must be there. */
export function createPrivateFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    throw new Failure(systemCodeOf(error) === "EEXIST" ? "private_file_exists" : "private_file_unwritable", {
      cause: error,
    });
  }
  if (!posix) windowsPathPrivacy().makePrivate(path);
  else {
    // A umask may have taken bits from the mode; the folder is ours, so setting it on the descriptor is safe.
    withFolder(path, (fd) => fchmodSync(fd, 0o700));
  }
  checkPrivateFolder(path);
}

/** Makes the folder unless it is there, and checks it either way. */
export function ensurePrivateFolder(path: string): void {
  try {
    createPrivateFolder(path);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "private_file_exists") throw error;
    checkPrivateFolder(path);
  }
}

/** Refuses a link, anything that is no folder, another owner and any right for others. */
export function checkPrivateFolder(path: string): void {
  let fd: number;
  try {
    if (lstatSync(path).isSymbolicLink()) throw new Failure("private_folder_required");
    fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(systemCodeOf(error) === "ENOENT" ? "private_file_missing" : "private_folder_required", {
      cause: error,
    });
  }
  try {
    const found = fstatSync(fd);
    if (!found.isDirectory() || !isOwn(found, path)) throw new Failure("private_folder_required");
  } finally {
    closeSync(fd);
  }
}

/** The whole of a private file: regular, one link, ours alone, at most `maxBytes`. */
export function readPrivateFile(path: string, limit: ReadLimit): Uint8Array {
  return readChecked(path, limit, (found) => found.isFile() && found.nlink === 1 && isOwn(found, path));
}

/** The whole of a regular file of any owner and mode; links, folders, pipes and devices are refused. */
export function readRegularFile(path: string, limit: ReadLimit): Uint8Array {
  try {
    return readChecked(path, limit, (found) => found.isFile());
  } catch (error) {
    // Only owner and mode make a file private; neither was asked for here, so the word must not speak of them.
    const named = error instanceof Failure && error.code !== "private_regular_file_required";
    throw named ? error : new Failure("regular_file_required", { cause: error });
  }
}

function readChecked(path: string, limit: ReadLimit, accepts: (found: Stats) => boolean): Uint8Array {
  const fd = openForReading(path);
  try {
    if (!accepts(fstatSync(fd))) throw new Failure("private_regular_file_required");
    return readUpTo(fd, limit.maxBytes);
  } finally {
    closeSync(fd);
  }
}

function openForReading(path: string): number {
  try {
    // Looking first keeps a link's target, a pipe or a device from being opened at all; the descriptor decides.
    const seen = lstatSync(path);
    if (!seen.isFile()) throw new Failure("private_regular_file_required");
    return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const missing = systemCodeOf(error) === "ENOENT" || systemCodeOf(error) === "ENOTDIR";
    throw new Failure(missing ? "private_file_missing" : "private_regular_file_required", { cause: error });
  }
}

function readUpTo(fd: number, maxBytes: number): Uint8Array {
  const size = fstatSync(fd).size;
  if (size > maxBytes) throw new Failure("private_file_too_large");
  // One byte more than allowed: a file that grows while it is read is noticed.
  const buffer = new Uint8Array(Math.min(maxBytes, size) + 1);
  let kept: Uint8Array = buffer;
  let at = 0;
  for (;;) {
    if (at === kept.length) {
      if (at > maxBytes) throw new Failure("private_file_too_large");
      const larger = new Uint8Array(Math.min(maxBytes + 1, at * 2));
      larger.set(kept);
      kept = larger;
    }
    const count = readSync(fd, kept, at, kept.length - at, null);
    if (count === 0) break;
    at += count;
  }
  if (at > maxBytes) throw new Failure("private_file_too_large");
  return kept.subarray(0, at);
}

/** Writes a file that did not exist, 0600, and returns once it and its name are on disk; whole or not at all. */
export function createPrivateFile(path: string, bytes: string | Uint8Array): void {
  const fd = openNew(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  try {
    writeSynced(fd, bytes);
  } catch (error) {
    // The name was free before, so what stands there is our own half.
    removeIfPresent(path);
    throw error;
  } finally {
    closeSync(fd);
  }
  syncFolder(parentOf(path));
}

/** Opens a new private file that can only grow; the caller closes the descriptor. */
export function openPrivateLog(path: string): number {
  return openNew(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW);
}

/**
 * Puts new content in place of the old in one step; a reader sees the one or the other. One writer at a time. In a
 * folder that is not ours alone `reserved` begins the name of the file in between, which is `.tmp` after the target's
 * else: a person's own `page.tmp` beside `page` must not be taken for what a dead writer left.
 */
export function replacePrivateFile(
  path: string,
  bytes: string | Uint8Array,
  { reserved }: { readonly reserved?: `.${string}-` } = {},
): void {
  const temporary = reserved === undefined ? `${path}.tmp` : reservedBeside(path, reserved);
  removeDeadWriters(temporary);
  const fd = openNew(temporary, O_WRONLY | O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW);
  // Held open to the end, so that no other file can be given the same number.
  const isOurs = (): boolean => {
    const found = lstatSync(temporary, { throwIfNoEntry: false });
    return !posix || found?.ino === fstatSync(fd).ino;
  };
  try {
    writeSynced(fd, bytes);
    // Callers take turns; should two ever not, the second has taken ours away and its half must not be put in place.
    if (!isOurs()) throw new Failure("private_file_unwritable");
    renameSync(temporary, path);
  } catch (error) {
    if (isOurs()) removeIfPresent(temporary);
    throw error instanceof Failure ? error : new Failure("private_file_unwritable", { cause: error });
  } finally {
    closeSync(fd);
  }
  syncFolder(parentOf(path));
}

/** One name a target, of one length whatever the target's, so that the next writer finds what a dead one left. */
function reservedBeside(path: string, prefix: string): string {
  const name = path.slice(Math.max(path.lastIndexOf("/"), posix ? -1 : path.lastIndexOf("\\")) + 1);
  const folder = path.slice(0, path.length - name.length);
  return `${folder}${prefix}${sha256Hex(name).slice(0, 32)}.tmp`;
}

/** Takes away what a writer that died here left; what no writer makes (a link, a folder, a pipe) is refused untouched. */
function removeDeadWriters(temporary: string): void {
  const found = lstatSync(temporary, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile()) throw new Failure("private_regular_file_required");
  removeIfPresent(temporary);
}

/** `replacePrivateFile` with a value as JSON, two spaces deep, one newline at the end. */
export function writePrivateJson(path: string, value: unknown): void {
  replacePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Removes the entry itself (never what a link points to); false when there was none. */
export function removeIfPresent(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return false;
    throw new Failure("private_file_unwritable", { cause: error });
  }
}

/** Puts a folder's list of names on disk. */
export function syncFolder(path: string): void {
  if (posix) withFolder(path, fsyncSync, 0);
}

function withFolder(path: string, work: (fd: number) => void, noFollow = O_NOFOLLOW): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_RDONLY | O_DIRECTORY | noFollow);
    work(fd);
  } catch (error) {
    throw new Failure("private_file_unwritable", { cause: error });
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function openNew(path: string, flags: number): number {
  let fd: number;
  try {
    fd = openSync(path, flags, 0o600);
  } catch (error) {
    throw new Failure(systemCodeOf(error) === "EEXIST" ? "private_file_exists" : "private_file_unwritable", {
      cause: error,
    });
  }
  if (posix) fchmodSync(fd, 0o600);
  else windowsPathPrivacy().makePrivate(path);
  return fd;
}

function writeSynced(fd: number, data: string | Uint8Array): void {
  const bytes = typeof data === "string" ? utf8(data) : data;
  try {
    let at = 0;
    while (at < bytes.length) at += writeSync(fd, bytes, at, bytes.length - at);
    fsyncSync(fd);
  } catch (error) {
    throw new Failure("private_file_unwritable", { cause: error });
  }
}

function parentOf(path: string): string {
  const at = path.lastIndexOf("/");
  if (at > 0) return path.slice(0, at);
  return at === 0 ? "/" : ".";
}
