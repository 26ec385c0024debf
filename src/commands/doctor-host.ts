// What the machine itself gives a run: limits, file system, room, private folders, locks, clock, environment.
// Writes below the folder it was given, tries the state folder by an empty folder, and leaves nothing.
import { mkdtempSync, readFileSync, rmdirSync, type Stats, statfsSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { tryLock } from "../base/file-lock.ts";
import { checkPrivateFolder, createPrivateFile, createPrivateFolder, readPrivateFile } from "../base/private-files.ts";
import { type DoctorHost, type Finding, fine, note, problem } from "./doctor-finding.ts";

const leastOpenFiles = 1_024;
const leastProcesses = 256;
const leastFreeBytes = 512 * 1024 * 1024;
const clockToleranceMs = 5_000;

/** Every check of the machine, in the order they are shown. */
export function hostFindings(host: DoctorHost): Finding[] {
  return [
    limitFinding("open files", leastOpenFiles, "ulimit -n"),
    limitFinding("processes", leastProcesses, "ulimit -u"),
    fileSystemFinding(host),
    spaceFinding(host),
    stateFinding(host),
    modesFinding(host),
    lockFinding(host),
    clockFinding(host),
    environmentFinding(host),
  ];
}

function limitFinding(check: string, least: number, command: string): Finding {
  const soft = new RegExp(`Max ${check}\\s+(\\d+|unlimited)`).exec(textOf("/proc/self/limits"))?.[1];
  if (soft === undefined) return note(check, "limit not readable here", `Look at \`${command}\`; ${least} is enough.`);
  if (soft !== "unlimited" && Number(soft) < least)
    return problem(check, `limit ${soft}`, `Raise it: \`${command} ${least}\`.`);
  return fine(check, soft === "unlimited" ? "no limit" : `limit ${soft}`);
}

/** Kinds by their magic number. On a network kind, locks and SQLite's log are not safe. */
const kinds: ReadonlyMap<number, readonly [name: string, network: boolean]> = new Map([
  [0xef53, ["ext", false]],
  [0x58465342, ["xfs", false]],
  [0x9123683e, ["btrfs", false]],
  [0x2fc12fc1, ["zfs", false]],
  [0xf2f52010, ["f2fs", false]],
  [0x01021994, ["tmpfs", false]],
  [0x794c7630, ["overlay", false]],
  [0x6969, ["nfs", true]],
  [0xff534d42, ["cifs", true]],
  [0xfe534d42, ["smb2", true]],
  [0x01021997, ["9p", true]],
  [0x65735546, ["fuse", true]],
  [0x00c36400, ["ceph", true]],
] as const);

function fileSystemFinding(host: DoctorHost): Finding {
  const check = "file system";
  const set = "Set HOME to a folder of yours.";
  if (host.home === null) return problem(check, "HOME names no absolute folder", set);
  let magic: number;
  try {
    magic = Number(statfsSync(host.home).type) >>> 0;
  } catch {
    return problem(check, "home folder not readable", set);
  }
  const [name, network] = kinds.get(magic) ?? ["another local kind", false];
  if (network)
    return note(check, `home lies on ${name}`, "Keep data and state on a local disk: set XDG_STATE_HOME to one.");
  return fine(check, `home lies on ${name}`);
}

function spaceFinding(host: DoctorHost): Finding {
  const { bavail, bsize } = statfsSync(host.temp);
  if (bavail * bsize < leastFreeBytes)
    return note("room", "less than 512 MiB free for temporary files", "Make room, or point TMPDIR elsewhere.");
  return fine("room", "enough for temporary files");
}

/** The folder is made when first needed, so where it is missing the nearest folder above must take it. */
function stateFinding(host: DoctorHost): Finding {
  const check = "state folder";
  const move = "Set XDG_STATE_HOME to a folder of yours that can be written.";
  if (host.state === null) return problem(check, "no home and no XDG_STATE_HOME", move);
  const found = look(host.state);
  if (found === undefined) {
    return writable(nearestAbove(host.state))
      ? fine(check, "not there yet; made when needed")
      : problem(check, "not there, and it cannot be made", move);
  }
  try {
    checkPrivateFolder(host.state);
  } catch {
    return problem(check, "not a folder of yours alone", "Own it and close it: chmod 700 on $XDG_STATE_HOME/proctor.");
  }
  return writable(host.state) ? fine(check, "private") : problem(check, "cannot be written", move);
}

function nearestAbove(path: string): string {
  const above = dirname(path);
  return above === path || look(above) !== undefined ? above : nearestAbove(above);
}

/** Below a file there is nothing, and in a closed folder nothing of ours. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Asked by making a folder there and removing it: modes alone tell nothing to root or on a read-only disk. */
function writable(path: string): boolean {
  try {
    rmdirSync(mkdtempSync(`${path}/.proctor-doctor-`));
    return true;
  } catch {
    return false;
  }
}

/** Some mounts keep no modes: a private file would be open to others there. */
function modesFinding(host: DoctorHost): Finding {
  try {
    createPrivateFolder(`${host.temp}/private`);
    createPrivateFile(`${host.temp}/private/file`, "x");
    readPrivateFile(`${host.temp}/private/file`, { maxBytes: 1 });
    return fine("private files", "modes 0700 and 0600 are kept");
  } catch {
    return problem(
      "private files",
      "modes are not kept here",
      "Point TMPDIR and XDG_STATE_HOME at a disk that keeps them.",
    );
  }
}

function lockFinding(host: DoctorHost): Finding {
  const next = "Point TMPDIR and XDG_STATE_HOME at a local disk.";
  try {
    const first = tryLock(`${host.temp}/lock`);
    const second = first === null ? null : tryLock(`${host.temp}/lock`);
    second?.release();
    first?.release();
    if (first !== null && second === null) return fine("locks", "file locks exclude");
  } catch {
    return problem("locks", "there are no file locks here", next);
  }
  return problem("locks", "file locks do not exclude here", next);
}

/** Evidence is dated by the clock, and freshness is judged by file times: both must be plausible and agree. */
function clockFinding(host: DoctorHost): Finding {
  const year = new Date().getUTCFullYear();
  if (year < 2026) return problem("clock", `says ${year}`, "Set the clock: reports carry its time.");
  const path = `${host.temp}/clock`;
  const asked = Date.now();
  writeFileSync(path, "x", { mode: 0o600 });
  if (Math.abs(statSync(path).mtimeMs - asked) > clockToleranceMs)
    return problem("clock", "file times differ from it", "Set the clock of the file server, or use a local disk.");
  return fine("clock", "plausible, and file times agree");
}

function environmentFinding(host: DoctorHost): Finding {
  const set = ["BUN_OPTIONS", "BUN_BE_BUN"].filter((name) => host.environment[name] !== undefined);
  if (set.length === 0) return fine("environment", "nothing that changes the runtime");
  return problem("environment", `${set.join(" and ")} set`, "Start with `env -u BUN_OPTIONS -u BUN_BE_BUN proctor …`.");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // no /proc here: the finding says so
  }
}
