// Replaces this process by another program, which keeps our pid, pipes and environment. Only for a process that was
// started for nothing else: whatever ran here is gone without clean-up.

import { FFIType, ptr } from "bun:ffi";
import { openLibc } from "./libc.ts";

const sigpipe = 13;

/** Comes back only when the program could not be executed. `path` is the file, `args` what follows its name. */
export function execProgram(path: string, args: readonly string[]): false {
  const libc = openLibc({
    execv: { args: [FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
    signal: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.ptr },
  });
  if (libc === null) return false;
  // The runtime ignores a broken pipe; an ignored signal would stay ignored in the new program.
  libc.signal(sigpipe, null);
  const words = [path, ...args].map((word) => Buffer.from(`${word}\0`));
  const table = new BigUint64Array(words.length + 1);
  words.forEach((word, at) => {
    table[at] = BigInt(ptr(word));
  });
  libc.execv(ptr(words[0] as Buffer), ptr(table));
  return false;
}
