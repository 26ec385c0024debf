// The kernel's own exclusive lock (flock) on a private file. A dead holder frees it at once; the file is never
// removed, because a lock on an unlinked file guards nothing. Contention is a value, not an error.
import { dlopen, FFIType } from "bun:ffi";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { type Clock, holdsWithin, systemClock } from "./clock.ts";
import { Failure, systemCodeOf } from "./failure.ts";
import { effectiveUserId } from "./self.ts";

const exclusive = 2;
const nonBlocking = 4;
const missing = new Set(["ENOENT", "ENOTDIR"]);

let flock: ((fd: number, operation: number) => number) | undefined;

function loadFlock(): (fd: number, operation: number) => number {
  if (flock !== undefined) return flock;
  const signature = { flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 } } as const;
  const names =
    process.platform === "darwin" ? ["libSystem.dylib"] : ["libc.so.6", "libc.so", `libc.musl-${arch()}.so.1`];
  for (const name of names) {
    try {
      flock = dlopen(name, signature).symbols.flock;
      return flock;
    } catch {
      // The next name belongs to another C library; that none fits is said below.
    }
  }
  throw new Failure("file_lock_unavailable");
}

function arch(): string {
  return process.arch === "arm64" ? "aarch64" : "x86_64";
}

/** A held lock. It ends with `release()` or with the process, whichever comes first. */
export class FileLock {
  #fd: number | null;

  constructor(fd: number) {
    this.#fd = fd;
  }

  release(): void {
    if (this.#fd === null) return;
    closeSync(this.#fd);
    this.#fd = null;
  }
}

/** Takes the lock now, or null when another process (or this one) holds it. */
export function tryLock(path: string): FileLock | null {
  const fd = openLockFile(path);
  if (loadFlock()(fd, exclusive | nonBlocking) === 0) return new FileLock(fd);
  closeSync(fd);
  return null;
}

/** Tries again until the deadline; null when the holder outlasts it. */
export async function lockWithin(
  path: string,
  options: { readonly withinMs: number; readonly clock?: Clock },
): Promise<FileLock | null> {
  let lock: FileLock | null = null;
  const probe = () => {
    lock = tryLock(path);
    return lock !== null;
  };
  await holdsWithin(probe, { withinMs: options.withinMs, everyMs: 5, clock: options.clock ?? systemClock });
  return lock;
}

function openLockFile(path: string): number {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw new Failure(missing.has(systemCodeOf(error) ?? "") ? "private_file_missing" : "invalid_lock", {
      cause: error,
    });
  }
  const found = fstatSync(fd);
  const uid = effectiveUserId();
  const own = uid === null || (found.uid === uid && (found.mode & 0o077) === 0);
  if (found.isFile() && found.nlink === 1 && own) return fd;
  closeSync(fd);
  throw new Failure("invalid_lock");
}
