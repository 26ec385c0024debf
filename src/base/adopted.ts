// Buries the dead that a subreaper was given: processes it never started, whose parents ended before them. What it
// did start is left to the runtime, which would otherwise wait for an exit status that is gone.

import { FFIType, type Pointer } from "bun:ffi";
import { listProcesses } from "./census.ts";
import { openLibc } from "./libc.ts";
import { startedHere } from "./process-group.ts";

const { i32, ptr } = FFIType;
const doNotWait = 1;
let waitpid: ((pid: number, status: Pointer | null, options: number) => number) | null | undefined;

/**
 * Takes every ended child that was adopted off the process table and tells how many. For a process that starts all
 * its own children by `startGroup`; a long-lived one calls it now and then, or the table fills. Linux only; else 0.
 */
export function reapAdopted(): number {
  if (waitpid === undefined) {
    const functions = { waitpid: { args: [i32, ptr, i32], returns: i32 } } as const;
    waitpid = (process.platform === "linux" ? openLibc(functions)?.waitpid : null) ?? null;
  }
  if (waitpid === null) return 0;
  let reaped = 0;
  for (const row of listProcesses()) {
    if (row.ppid !== process.pid || row.state !== "Z" || startedHere(row.pid)) continue;
    if (waitpid(row.pid, null, doNotWait) === row.pid) reaped += 1;
  }
  return reaped;
}
