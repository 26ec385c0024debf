// Starts a program as leader of a session and group of its own and ends the group as a whole. A group is only ever
// named by a leader that was started here; our own group is refused. What is still there at the end is told as a
// value, never hidden.

import { groupMembers, isAlive, type ProcessId, type ProcessRow, readProcess } from "./census.ts";
import { type Clock, holdsWithin, systemClock } from "./clock.ts";
import { Failure, systemCodeOf } from "./failure.ts";

export interface GroupOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the child; nothing is added to it. */
  readonly env: Readonly<Record<string, string>>;
  /** "pipe" or an open descriptor; "ignore" when absent. */
  readonly stdin?: "ignore" | "pipe" | number;
  /** A pipe has to be read: one that nobody touches is buffered without bound. */
  readonly stdout?: "ignore" | "pipe" | number;
  readonly stderr?: "ignore" | "pipe" | number;
  /** More descriptors, handed on as 3, 4, …; a "pipe" is a new two-way one, whose other end is in `extraPipes`. */
  readonly extra?: readonly (number | "pipe")[];
  /** Go by the kernel's answer to the group's number alone, as where there is no /proc; asked for by tests. */
  readonly withoutProcessTable?: boolean;
}

export interface GroupExit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface StopOptions {
  readonly termMs?: number;
  readonly killMs?: number;
  readonly clock?: Clock;
  readonly firstSignal?: NodeJS.Signals;
}

/** The writing end of a child's stdin: await flush() after each write, or memory has no bound. */
export type GroupInput = Bun.FileSink;

export interface ProcessGroup {
  readonly id: ProcessId;
  readonly pid: number;
  readonly stdin?: GroupInput;
  readonly stdout?: ReadableStream<Uint8Array>;
  readonly stderr?: ReadableStream<Uint8Array>;
  /** Our ends of the further pipes, in order; ours to close. */
  readonly extraPipes?: readonly number[];
  /** The leader's end; members may outlive it. */
  readonly exited: Promise<GroupExit>;
  /** Whether any member is alive. */
  running(): boolean;
  signalLeader(signal: NodeJS.Signals): void;
  stop(options?: StopOptions): Promise<"gone" | "still_visible">;
}

/** Leaders whose exit status the runtime still has to read. */
const unread = new Set<number>();

/** Whether this pid is a leader started here whose end has not been told yet. */
export function startedHere(pid: number): boolean {
  return unread.has(pid);
}

/** Fails with `program_not_started` when the program cannot be executed. */
export function startGroup(options: GroupOptions): ProcessGroup {
  const child = spawn(options);
  unread.add(child.pid);
  const started = readProcess(child.pid);
  const id: ProcessId = { pid: child.pid, startTicks: started?.startTicks ?? 0 };
  if (started !== null && started.pgid === readProcess(process.pid)?.pgid) {
    child.kill("SIGKILL");
    throw new Failure("group_not_separate");
  }
  const members = new GroupMembers(id, options.withoutProcessTable !== true && started !== null);
  const streams = child as unknown as Pick<ProcessGroup, "stdin" | "stdout" | "stderr">;
  return {
    id,
    pid: child.pid,
    ...(options.stdin === "pipe" && streams.stdin ? { stdin: streams.stdin } : {}),
    ...(options.stdout === "pipe" && streams.stdout ? { stdout: streams.stdout } : {}),
    ...(options.stderr === "pipe" && streams.stderr ? { stderr: streams.stderr } : {}),
    extraPipes: (options.extra ?? []).flatMap((one, at) => {
      const end = (child.stdio as readonly unknown[])[at + 3];
      return one === "pipe" && typeof end === "number" ? [end] : [];
    }),
    exited: child.exited.then(() => {
      unread.delete(child.pid);
      return { code: child.exitCode, signal: child.signalCode as string | null };
    }),
    running: () => members.alive(),
    // Bun keeps the exit status until it was read, so the pid cannot have become somebody else's.
    signalLeader: (signal) => void (child.exitCode === null && child.signalCode === null && child.kill(signal)),
    stop: (how) => stopGroup(members, how),
  };
}

function spawn(options: GroupOptions): Bun.Subprocess {
  try {
    return Bun.spawn([options.command, ...options.args], {
      cwd: options.cwd,
      env: { ...options.env },
      detached: true,
      stdio: [
        options.stdin ?? "ignore",
        options.stdout ?? "ignore",
        options.stderr ?? "ignore",
        ...(options.extra ?? []),
      ],
    });
  } catch (cause) {
    throw new Failure("program_not_started", { cause });
  }
}

/**
 * The members of one group, seen through the group number. The number stays reserved by the kernel while any
 * member lives; once none was seen alive it may be given out again, and is never signalled after that.
 */
class GroupMembers {
  readonly #leader: ProcessId;
  readonly #hasTable: boolean;
  #over = false;

  constructor(leader: ProcessId, hasTable: boolean) {
    this.#leader = leader;
    this.#hasTable = hasTable;
  }

  /** Asked every few milliseconds while a group ends, so the whole process table is read only when nothing less tells. */
  alive(): boolean {
    if (this.#over) return false;
    const alive =
      this.#kill(0) !== "no_such_group" &&
      (!this.#hasTable || isAlive(this.#leader) || groupMembers(this.#leader.pid).some((row) => this.#ours(row)));
    if (!alive) this.#over = true;
    return alive;
  }

  signal(signal: NodeJS.Signals): void {
    // All of it may end between the look and the signal; the next look tells.
    if (this.alive()) this.#kill(signal);
  }

  #kill(signal: NodeJS.Signals | 0): "sent" | "refused" | "no_such_group" {
    try {
      process.kill(-this.#leader.pid, signal);
      return "sent";
    } catch (error) {
      return systemCodeOf(error) === "ESRCH" ? "no_such_group" : "refused";
    }
  }

  /** A leader with another start time means that our group ended and its number is in other hands. */
  #ours(row: ProcessRow): boolean {
    if (row.sid !== this.#leader.pid) return false;
    return row.pid !== this.#leader.pid || row.startTicks === this.#leader.startTicks;
  }
}

async function stopGroup(members: GroupMembers, options: StopOptions = {}): Promise<"gone" | "still_visible"> {
  const { termMs = 10_000, killMs = 2_000, clock = systemClock, firstSignal = "SIGTERM" } = options;
  const gone = (): boolean => !members.alive();
  members.signal(firstSignal);
  if (await holdsWithin(gone, { withinMs: termMs, everyMs: 10, clock })) return "gone";
  members.signal("SIGKILL");
  return (await holdsWithin(gone, { withinMs: killMs, everyMs: 10, clock })) ? "gone" : "still_visible";
}
