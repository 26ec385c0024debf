// Replaces this process by another program, which keeps our pid, pipes and environment. Only for a process that was
// started for nothing else: whatever ran here is gone without clean-up.

import { FFIType, ptr } from "bun:ffi";
import { openLibc } from "./libc.ts";

const sigpipe = 13;

/**
 * Comes back only when the program could not be executed. `path` is the file, `args` what follows its name. `asBun`
 * sets the one variable that makes this executable act as Bun; set before, it would have made us act so.
 */
export function execProgram(path: string, args: readonly string[], { asBun = false } = {}): false {
  const libc = openLibc({
    execv: { args: [FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
    setenv: { args: [FFIType.ptr, FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
    signal: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.ptr },
  });
  if (libc === null) return false;
  // The runtime ignores a broken pipe; an ignored signal would stay ignored in the new program.
  libc.signal(sigpipe, null);
  if (asBun && libc.setenv(ptr(Buffer.from("BUN_BE_BUN\0")), ptr(Buffer.from("1\0")), 1) !== 0) return false;
  const words = [path, ...args].map((word) => Buffer.from(`${word}\0`));
  const table = new BigUint64Array(words.length + 1);
  words.forEach((word, at) => {
    table[at] = BigInt(ptr(word));
  });
  libc.execv(ptr(words[0] as Buffer), ptr(table));
  return false;
}
