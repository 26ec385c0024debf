// The kernel's own exclusive lock (flock) on a private file. A dead holder frees it at once; the file is never
// removed, because a lock on an unlinked file guards nothing. Contention is a value, not an error.
import { FFIType, type Pointer, read } from "bun:ffi";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { type Clock, holdsWithin, systemClock } from "./clock.ts";
import { Failure, systemCodeOf } from "./failure.ts";
import { openLibc } from "./libc.ts";
import { effectiveUserId } from "./self.ts";

const exclusive = 2;
const nonBlocking = 4;
const missing = new Set(["ENOENT", "ENOTDIR"]);

interface Kernel {
  flock(fd: number, operation: number): number;
  /** Why the last call failed. */
  errno(): number;
}

let kernel: Kernel | undefined;

function loadKernel(): Kernel {
  if (kernel !== undefined) return kernel;
  const lock = { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 } as const;
  const where = { args: [], returns: FFIType.ptr } as const;
  const errnoAt = (at: bigint | Pointer | null) => (at === null ? 0 : read.i32(at as Pointer, 0));
  if (process.platform === "darwin") {
    const libc = openLibc({ flock: lock, __error: where });
    if (libc !== null) kernel = { flock: libc.flock, errno: () => errnoAt(libc.__error()) };
  } else {
    const libc = openLibc({ flock: lock, __errno_location: where });
    if (libc !== null) kernel = { flock: libc.flock, errno: () => errnoAt(libc.__errno_location()) };
  }
  if (kernel === undefined) throw new Failure("file_lock_unavailable");
  return kernel;
}

/** EBADF, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP by system: this place has no such lock, which is not "held". */
const unsupported = new Set(process.platform === "darwin" ? [9, 22, 77, 78, 45, 102] : [9, 22, 37, 38, 95]);

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
  let failed = 0;
  try {
    const { flock, errno } = loadKernel();
    if (flock(fd, exclusive | nonBlocking) === 0) return new FileLock(fd);
    failed = errno();
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  closeSync(fd);
  if (unsupported.has(failed)) throw new Failure("file_lock_unavailable");
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
