// Two promises of the Linux kernel: orphans of our tree become our children, and we end when our parent does.
// Where the kernel or its C library cannot give them the answer is false, and the caller has to say so.

import { FFIType } from "bun:ffi";
import { openLibc } from "./libc.ts";

const prSetPdeathsig = 1;
const prSetChildSubreaper = 36;
const sigkill = 9;

/** From now on a process whose parent ended, anywhere below us, becomes our child instead of pid 1's. */
export function becomeSubreaper(): boolean {
  return prctl(prSetChildSubreaper, 1);
}

/**
 * The kernel kills us as soon as the thread that started us has ended. False also when the parent is already
 * another one than `parentPid`: then the signal would never come.
 */
export function dieWithParent(parentPid?: number): boolean {
  if (!prctl(prSetPdeathsig, sigkill)) return false;
  return parentPid === undefined || process.ppid === parentPid;
}

function prctl(option: number, value: number): boolean {
  if (process.platform !== "linux") return false;
  const u64 = FFIType.u64;
  const libc = openLibc({ prctl: { args: [FFIType.i32, u64, u64, u64, u64], returns: FFIType.i32 } });
  return libc !== null && libc.prctl(option, BigInt(value), 0n, 0n, 0n) === 0;
}
