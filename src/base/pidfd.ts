// A descriptor that stands for one process and never for another that is given its pid later. Linux only; elsewhere
// the answer is null and the caller goes by pid and start time alone.

import { FFIType } from "bun:ffi";
import { closeSync } from "node:fs";
import { constants } from "node:os";
import { openLibc } from "./libc.ts";

// The same numbers on every architecture that is built for.
const pidfdSendSignal = 424n;
const pidfdOpen = 434n;

const { i64 } = FFIType;
let syscall: ((number: bigint, a: bigint, b: bigint, c: bigint, d: bigint) => bigint) | null | undefined;

function call(number: bigint, a: number, b: number): number {
  if (syscall === undefined) {
    const functions = { syscall: { args: [i64, i64, i64, i64, i64], returns: i64 } } as const;
    syscall = (process.platform === "linux" ? openLibc(functions)?.syscall : null) ?? null;
  }
  return syscall === null ? -1 : Number(syscall(number, BigInt(a), BigInt(b), 0n, 0n));
}

/** Readable (as in poll) once the process has ended; null when there is no such process or no such call. */
export function openPidfd(pid: number): number | null {
  const fd = call(pidfdOpen, pid, 0);
  return fd < 0 ? null : fd;
}

/** False when the process has been reaped, or is not ours to signal. */
export function signalPidfd(fd: number, signal: NodeJS.Signals): boolean {
  return call(pidfdSendSignal, fd, constants.signals[signal]) === 0;
}

/** Lets go of the descriptor. */
export function closePidfd(fd: number): void {
  closeSync(fd);
}
