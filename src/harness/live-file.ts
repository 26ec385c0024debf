// The live file of a run: who owns it and what it started, by pid and start time, so that a later command can end
// what a dead owner left. Signals go to recorded processes and their descendants only, each checked at the signal.
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { descendantsOf, isAlive, listProcesses, type ProcessId, readProcess, signalExactly } from "../base/census.ts";
import { holdsWithin } from "../base/clock.ts";
import { Failure } from "../base/failure.ts";
import { parseJson } from "../base/json.ts";
import { ensurePrivateFolder, readPrivateFile, removeIfPresent, writePrivateJson } from "../base/private-files.ts";
import { effectiveUserId } from "../base/self.ts";
import { z } from "../contract/schema.ts";
import { harnessLimits } from "./limits.ts";

const Id = z.strictObject({ pid: z.number().int().min(2), start_ticks: z.number().int().nonnegative() });
const LiveRecord = z.strictObject({
  version: z.literal(1),
  run_id: z.string().regex(/^[0-9a-z-]{1,80}$/),
  boot_id: z.string().max(100),
  output_dir: z.string().max(4096),
  owners: z.array(Id).max(4),
  processes: z.array(Id).max(5000),
  /** A folder that goes with its owner; null before it was made. */
  folder: z
    .strictObject({ path: z.string().max(4096), device: z.string().max(40), inode: z.string().max(40) })
    .or(z.strictObject({ path: z.string().max(4096), device: z.null(), inode: z.null() }))
    .optional(),
});
type LiveRecord = z.infer<typeof LiveRecord>;

export interface DeadRun {
  readonly runId: string;
  readonly outputDir: string;
  readonly ended: number;
  readonly stillVisible: number;
  /** Its folder went with it; null where the run had none of that kind. */
  readonly folderRemoved: boolean | null;
}

/** A home that cannot be written is the host's matter and has a sentence of its own. */
function makeParents(path: string): void {
  try {
    mkdirSync(join(path, ".."), { recursive: true });
  } catch (cause) {
    throw new Failure("private_file_unwritable", { cause });
  }
}

/** Kept by the worker of a run; every new process is on disk before anybody waits for it. */
export class LiveFile {
  readonly #path: string;
  readonly #record: LiveRecord;
  readonly #seen = new Set<string>();

  /** `folder` is where the run works when that has to go with its owner; it need not exist yet. */
  constructor(
    stateFolder: string,
    options: { runId: string; outputDir: string; owners: readonly ProcessId[]; folder?: string },
  ) {
    const folder = liveFolder(stateFolder);
    makeParents(stateFolder);
    ensurePrivateFolder(stateFolder);
    ensurePrivateFolder(folder);
    this.#path = join(folder, `${options.runId}.json`);
    const owners = options.owners.map(idOf);
    this.#record = {
      version: 1,
      run_id: options.runId,
      boot_id: bootId(),
      output_dir: options.outputDir,
      owners,
      processes: [],
      ...(options.folder === undefined ? {} : { folder: { path: options.folder, device: null, inode: null } }),
    };
    this.#write();
  }

  /** The folder was made: from now on it is known by device and inode, whatever stands under its name later. */
  noteFolder(): void {
    const path = this.#record.folder?.path;
    if (path === undefined) return;
    this.#record.folder = { path, ...identityOf(lstatSync(path, { bigint: true })) };
    this.#write();
  }

  /** Notes processes, and all that descends from them now. */
  note(ids: readonly ProcessId[]): void {
    const rows = descendantsOf(
      ids.map((id) => id.pid),
      listProcesses(),
    );
    for (const id of [...ids, ...rows]) {
      const key = `${id.pid}.${id.startTicks}`;
      if (id.pid < 2 || this.#seen.has(key) || this.#record.processes.length >= 5000) continue;
      this.#seen.add(key);
      this.#record.processes.push(idOf(id));
    }
    this.#write();
  }

  remove(): void {
    removeIfPresent(this.#path);
  }

  #write(): void {
    writePrivateJson(this.#path, this.#record);
  }
}

/** Ends what runs with dead owners left behind; says which runs those were. Living runs are not touched. */
export async function endDeadRuns(stateFolder: string): Promise<DeadRun[]> {
  const folder = liveFolder(stateFolder);
  removeOldLeftovers(folder, namesIn(folder));
  const ended: DeadRun[] = [];
  const seen = new Set<string>();
  for (;;) {
    // Once more after each find: a calibration that is ended here owned runs with live files of their own.
    const names = namesIn(folder).filter((name) => name.endsWith(".json") && !seen.has(name));
    const found = await Promise.all(names.map(async (name) => [name, await endDeadRun(join(folder, name))] as const));
    for (const [name, run] of found)
      if (run !== null) {
        seen.add(name);
        ended.push(run);
      }
    if (found.every(([, run]) => run === null)) return ended;
  }
}

async function endDeadRun(path: string): Promise<DeadRun | null> {
  const record = readRecord(path);
  if (record === null || record.owners.map(processOf).some(isAlive)) return null;
  // Another boot has other processes under these numbers; only the file is ours then.
  const ids = record.boot_id === bootId() ? record.processes.map(processOf) : [];
  const { ended, stillVisible } = await endProcesses(() => ids);
  const over = stillVisible === 0;
  const folderRemoved = record.folder === undefined ? null : over && removeFolder(record.folder);
  if (over) for (const one of [path, `${path}.tmp`]) removeIfPresent(one);
  return { runId: record.run_id, outputDir: record.output_dir, ended, stillVisible, folderRemoved };
}

/** Only the very folder that was recorded, and one that was not recorded yet only while it is empty. */
function removeFolder(folder: NonNullable<LiveRecord["folder"]>): boolean {
  const { path, device, inode } = folder;
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return true;
    if (!stat.isDirectory() || Number(stat.uid) !== effectiveUserId()) return false;
    if (inode === null) rmdirSync(path);
    else if (identityOf(stat).device !== device || identityOf(stat).inode !== inode) return false;
    else rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false; // something in it is not ours to remove: the caller tells where it lies
  }
}

function identityOf(stat: { dev: bigint; ino: bigint }): { device: string; inode: string } {
  return { device: String(stat.dev), inode: String(stat.ino) };
}

/** Where the run of this owner writes its evidence, or null when no run of it is recorded. */
export function outputOfOwner(stateFolder: string, owner: ProcessId): string | null {
  const folder = liveFolder(stateFolder);
  for (const name of namesIn(folder).filter((one) => one.endsWith(".json"))) {
    const record = readRecord(join(folder, name));
    if (record?.owners.some((id) => id.pid === owner.pid && id.start_ticks === owner.startTicks))
      return record.output_dir;
  }
  return null;
}

/**
 * Kills the processes that `current` names now and everything that descends from them. All are stopped first, so that
 * none can start another one between the look and the kill.
 */
export async function endProcesses(
  current: () => readonly ProcessId[],
): Promise<{ ended: number; stillVisible: number }> {
  const all = new Map<string, ProcessId>();
  const keyOf = (id: ProcessId) => `${id.pid}.${id.startTicks}`;
  const living = () => [...all.values()].filter(isAlive);
  const findMore = (): boolean => {
    const roots = [...current(), ...all.values()].filter(isAlive);
    const found = [...roots, ...descendantsOf(roots.map((one) => one.pid)).filter(isAlive)];
    const fresh = found.filter((id) => !all.has(keyOf(id)));
    for (const id of fresh) all.set(keyOf(id), { pid: id.pid, startTicks: id.startTicks });
    for (const id of fresh) signalExactly(id, "SIGSTOP");
    return fresh.length > 0;
  };
  const gone = (): boolean => {
    while (findMore());
    for (const id of living()) signalExactly(id, "SIGKILL");
    return living().length === 0;
  };
  await holdsWithin(gone, { withinMs: harnessLimits.deadRunMs, everyMs: 20 });
  const stillVisible = living().length;
  return { ended: all.size - stillVisible, stillVisible };
}

/** This process by pid and start time. */
export function ownId(): ProcessId {
  return { pid: process.pid, startTicks: readProcess(process.pid)?.startTicks ?? 0 };
}

function liveFolder(stateFolder: string): string {
  return join(stateFolder, "live");
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no run was ever started here
  }
}

/** A run that was killed in the middle of its very first write left a part of a file that names nothing yet. */
function removeOldLeftovers(folder: string, names: readonly string[]): void {
  for (const name of names.filter((one) => one.endsWith(".json.tmp"))) {
    const path = join(folder, name);
    const writtenMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (!names.includes(name.slice(0, -4)) && Date.now() - writtenMs > harnessLimits.liveLeftoverMs)
      removeIfPresent(path);
  }
}

function readRecord(path: string): LiveRecord | null {
  try {
    const parsed = LiveRecord.safeParse(parseJson(readPrivateFile(path, { maxBytes: harnessLimits.liveFileBytes })));
    return parsed.success ? parsed.data : null;
  } catch {
    return null; // removed meanwhile, or not ours to read: then nothing in it is ours to signal
  }
}

function idOf(id: ProcessId): { pid: number; start_ticks: number } {
  return { pid: id.pid, start_ticks: id.startTicks };
}

function processOf(id: { pid: number; start_ticks: number }): ProcessId {
  return { pid: id.pid, startTicks: id.start_ticks };
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}
