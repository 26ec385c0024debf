// Who runs on this host, read from /proc. A process is named by pid and start time, because a pid alone is given
// out again; zombies have ended and are told as state "Z". Without /proc every answer is empty.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { closePidfd, openPidfd, signalPidfd } from "./pidfd.ts";

/** One line of the process table; `startTicks` is the kernel's start time since boot. */
export interface ProcessRow {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  readonly startTicks: number;
  readonly state: string;
  readonly name: string;
}

/** The lasting name of a process. */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: number;
}

/** The row of a pid, or null when there is none (any more). */
export function readProcess(pid: number): ProcessRow | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    // Ended between listing and reading, or no /proc: both mean "not here".
    return null;
  }
  return parseStat(text);
}

/** Reads one stat line. The name may itself hold blanks and brackets, so the last bracket ends it. */
export function parseStat(text: string): ProcessRow | null {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return null;
  const fields = text
    .slice(close + 2)
    .trim()
    .split(" ");
  const number = (at: number): number => Number(fields[at]);
  const row = {
    pid: Number(text.slice(0, open).trim()),
    name: text.slice(open + 1, close),
    state: fields[0] ?? "",
    ppid: number(1),
    pgid: number(2),
    sid: number(3),
    startTicks: number(19),
  };
  return Number.isSafeInteger(row.pid) && Number.isSafeInteger(row.startTicks) ? row : null;
}

/** All processes that can be seen, zombies included. */
export function listProcesses(): ProcessRow[] {
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return [];
  }
  const rows: ProcessRow[] = [];
  for (const name of names) {
    const row = /^[0-9]+$/.test(name) ? readProcess(Number(name)) : null;
    if (row !== null) rows.push(row);
  }
  return rows;
}

/** All that descends from the given pids, without them, nearest first; zombies included. */
export function descendantsOf(pids: readonly number[], rows = listProcesses()): ProcessRow[] {
  const seen = new Set(pids);
  const found: ProcessRow[] = [];
  let grew = true;
  while (grew) {
    grew = false;
    for (const row of rows) {
      if (seen.has(row.pid) || !seen.has(row.ppid)) continue;
      seen.add(row.pid);
      found.push(row);
      grew = true;
    }
  }
  return found;
}

/** The living members of a process group. */
export function groupMembers(pgid: number, rows = listProcesses()): ProcessRow[] {
  return rows.filter((row) => row.pgid === pgid && !hasEnded(row));
}

/** Whether just this process still runs. */
export function isAlive(id: ProcessId): boolean {
  const row = readProcess(id.pid);
  return row !== null && row.startTicks === id.startTicks && !hasEnded(row);
}

/**
 * Signals exactly this process. "refused" says that the kernel would not let us, or that the pid could never be
 * one of ours (pid 1, or a number that addresses a group).
 */
export function signalExactly(id: ProcessId, signal: NodeJS.Signals): "signalled" | "gone" | "refused" {
  if (!Number.isSafeInteger(id.pid) || id.pid <= 1 || id.pid === process.pid) return "refused";
  // Held from before the look: the signal then goes to the process that was looked at, or to none.
  const held = openPidfd(id.pid);
  try {
    if (!isAlive(id)) return "gone";
    if (held !== null) {
      if (signalPidfd(held, signal)) return "signalled";
      return isAlive(id) ? "refused" : "gone";
    }
    process.kill(id.pid, signal);
    return "signalled";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? "gone" : "refused";
  } finally {
    if (held !== null) closePidfd(held);
  }
}

/** TCP ports on which this process itself listens, in ascending order. */
export function listeningPorts(pid: number): number[] {
  const own = socketInodes(pid);
  const ports = new Set<number>();
  for (const table of ["tcp", "tcp6"]) {
    for (const line of linesOf(`/proc/${pid}/net/${table}`)) {
      const fields = line.trim().split(/ +/);
      const port = fields[1]?.split(":")[1];
      if (fields[3] === "0A" && port !== undefined && own.has(fields[9] ?? "")) ports.add(Number.parseInt(port, 16));
    }
  }
  return [...ports].sort((a, b) => a - b);
}

function hasEnded(row: ProcessRow): boolean {
  return row.state === "Z" || row.state === "X";
}

function socketInodes(pid: number): Set<string> {
  const inodes = new Set<string>();
  let names: string[] = [];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    // Ended, or another user's: nothing that we could know.
  }
  for (const name of names) {
    try {
      const inode = /^socket:\[([0-9]+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    } catch {
      // Closed meanwhile.
    }
  }
  return inodes;
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "latin1").split("\n").slice(1);
  } catch {
    return [];
  }
}
