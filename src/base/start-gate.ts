// A program that begins only once its starter has put its number on disk. Between a fork and that note a starter can be
// killed; what it had started would then run on unknown to everybody. So a process of our own waits behind a gate and
// becomes the program when told to; the end of the gate, which the kernel brings about, tells it to end instead.
import { accessSync, closeSync, constants, fstatSync, read, writeSync } from "node:fs";
import type { ProcessId } from "./census.ts";
import { Failure } from "./failure.ts";
import { type GroupOptions, type ProcessGroup, startGroup } from "./process-group.ts";
import { selfCommand } from "./self.ts";

/** Starts a group whose program, an absolute path, begins after `note` has come back; never when it throws. */
export function startNoted(options: GroupOptions, note: (id: ProcessId) => void): ProcessGroup {
  const { extra = [] } = options;
  try {
    accessSync(options.command, constants.X_OK);
  } catch (cause) {
    throw new Failure("program_not_started", { cause });
  }
  if (process.platform === "win32") return notedAfterwards(options, note); // no process becomes another one there
  const { BUN_BE_BUN: asBun, ...env } = options.env;
  const gate = [String(3 + extra.length), ...(asBun === "1" ? ["--bun"] : [])];
  const self = selfCommand(["exec-noted", ...gate, "--", options.command, ...options.args]);
  const group = startGroup({ ...options, ...self, env, extra: [...extra, "pipe"] });
  const opener = group.extraPipes?.at(-1);
  if (opener === undefined) throw new Failure("program_not_started");
  try {
    note(group.id);
    open(opener);
  } finally {
    closeSync(opener);
  }
  return { ...group, extraPipes: group.extraPipes?.slice(0, -1) ?? [] };
}

function notedAfterwards(options: GroupOptions, note: (id: ProcessId) => void): ProcessGroup {
  const group = startGroup(options);
  note(group.id);
  return group;
}

/** Behind the gate: true once it was opened, false when it is gone or was never there. */
export async function passGate(descriptor: string): Promise<boolean> {
  const gate = Number(descriptor);
  if (!/^[3-9]$/.test(descriptor) || !isChannel(gate)) return false;
  const opened = await new Promise<boolean>((resolve) => {
    read(gate, new Uint8Array(1), 0, 1, null, (error, got) => resolve(error === null && got === 1));
  });
  // The program is not to inherit it.
  closeSync(gate);
  return opened;
}

function open(opener: number): void {
  try {
    writeSync(opener, "g");
  } catch {
    // It was ended while it waited; how it ended is read from its group.
  }
}

function isChannel(descriptor: number): boolean {
  try {
    const facts = fstatSync(descriptor);
    return facts.isFIFO() || facts.isSocket();
  } catch {
    return false; // nothing was inherited under that number
  }
}
