// The findings of `proctor doctor`: fixed words, bounded versions, no path, name or value of this host.
// Each finding is ok, a note, or a problem, and the last two say what to do next.
import { readFileSync, statfsSync, statSync } from "node:fs";
import { type Environment, pickEnvironment } from "../base/environment.ts";
import { tryLock } from "../base/file-lock.ts";
import { runProgram } from "../base/run-program.ts";
import { visible } from "../base/visible.ts";

export interface Finding {
  readonly check: string;
  readonly outcome: "ok" | "note" | "problem";
  readonly says: string;
  readonly next?: string;
}

export interface DoctorHost {
  readonly environment: Environment;
  readonly home: string;
  readonly state: string;
  readonly temp: string;
}

const versionTimeoutMs = 5_000;
const maxVersionBytes = 4_096;

/** Programs a run may need: how they are asked, and what their absence means. */
const programs = [
  {
    check: "git",
    words: ["--version"],
    missing: "problem",
    next: "Install git: `accept` makes its fixture repository with it.",
  },
  {
    check: "python3",
    words: ["--version"],
    missing: "note",
    next: "Without python3 3.10 or newer the TypeScript fixture is used.",
  },
  { check: "node", words: ["--version"], missing: "note", next: "Only the real codex-acp adapter needs Node.js." },
  {
    check: "codex",
    words: ["--version"],
    missing: "note",
    next: "Only a run with the real consumer needs it; pass --codex-path.",
  },
] as const;

/** Runs every check; takes under ten seconds and changes nothing but one lock file in a folder of its own. */
export async function findings(host: DoctorHost): Promise<Finding[]> {
  const asked = await Promise.all(programs.map((program) => programFinding(program, host)));
  return [
    ...asked,
    limitsFinding(),
    fileSystemFinding(host),
    stateFinding(host),
    clockFinding(),
    lockFinding(host),
    hostileFinding(host),
  ];
}

async function programFinding(program: (typeof programs)[number], host: DoctorHost): Promise<Finding> {
  const path = Bun.which(program.check, { PATH: host.environment.PATH ?? "" });
  if (path === null)
    return { check: program.check, outcome: program.missing, says: "not found on PATH", next: program.next };
  const answer = await runProgram({
    command: path,
    args: [...program.words],
    cwd: host.temp,
    env: pickEnvironment(host.environment, ["PATH", "HOME", "LANG"]),
    timeoutMs: versionTimeoutMs,
    maxOutputBytes: maxVersionBytes,
  });
  if (!answer.started || answer.code !== 0) {
    return {
      check: program.check,
      outcome: "problem",
      says: "found, but it does not answer --version",
      next: `Reinstall ${program.check}.`,
    };
  }
  const text = new TextDecoder().decode(answer.stdout).trim().split("\n")[0] ?? "";
  return versionFinding(program.check, text);
}

/** Judges one version line: python3 has a lowest version, the others are only shown. */
export function versionFinding(check: string, line: string): Finding {
  const number = /\d+(?:\.\d+){1,3}/.exec(line)?.[0] ?? "";
  if (number === "")
    return { check, outcome: "note", says: "answers without a version", next: `Look at \`${check} --version\`.` };
  const [major = 0, minor = 0] = number.split(".").map(Number);
  if (check === "python3" && (major < 3 || (major === 3 && minor < 10))) {
    return {
      check,
      outcome: "note",
      says: `version ${number}`,
      next: "The Python fixture needs 3.10; the TypeScript one is used.",
    };
  }
  return { check, outcome: "ok", says: `version ${visible(number, 40)}` };
}

function limitsFinding(): Finding {
  const limits = readText("/proc/self/limits");
  const soft = Number(/Max open files\s+(\d+)/.exec(limits)?.[1] ?? Number.NaN);
  if (Number.isNaN(soft))
    return {
      check: "open files",
      outcome: "note",
      says: "limit not readable here",
      next: "Look at `ulimit -n`; 1024 is enough.",
    };
  if (soft < 1_024)
    return { check: "open files", outcome: "problem", says: `limit ${soft}`, next: "Raise it: `ulimit -n 1024`." };
  return { check: "open files", outcome: "ok", says: `limit ${soft}` };
}

/** Network file systems by their magic number: locks and SQLite's log are not safe there. */
const networkKinds = new Map<number, string>([
  [0x6969, "nfs"],
  [0xff534d42, "cifs"],
  [0xfe534d42, "smb2"],
  [0x01021997, "9p"],
  [0x65735546, "fuse"],
]);

function fileSystemFinding(host: DoctorHost): Finding {
  let kind: number;
  try {
    kind = Number(statfsSync(host.home).type);
  } catch {
    return {
      check: "file system",
      outcome: "problem",
      says: "home folder not readable",
      next: "Set HOME to a folder of yours.",
    };
  }
  const network = networkKinds.get(kind >>> 0);
  if (network !== undefined) {
    return {
      check: "file system",
      outcome: "note",
      says: `home lies on ${network}`,
      next: "Keep data and state on a local disk (XDG_STATE_HOME).",
    };
  }
  return { check: "file system", outcome: "ok", says: "home lies on a local file system" };
}

function stateFinding(host: DoctorHost): Finding {
  const check = "state folder";
  const found = statSync(host.state, { throwIfNoEntry: false });
  if (found === undefined) return { check, outcome: "ok", says: "not there yet; made when needed" };
  if (!found.isDirectory())
    return { check, outcome: "problem", says: "is no folder", next: "Move what lies at $XDG_STATE_HOME/proctor away." };
  if ((found.mode & 0o077) !== 0)
    return {
      check,
      outcome: "problem",
      says: "open to others",
      next: "Close it: chmod 700 on $XDG_STATE_HOME/proctor.",
    };
  return { check, outcome: "ok", says: "private" };
}

function clockFinding(): Finding {
  // A clock before this build's own year would date evidence wrongly.
  const year = new Date().getUTCFullYear();
  if (year < 2026)
    return { check: "clock", outcome: "problem", says: `says ${year}`, next: "Set the clock: reports carry its time." };
  return { check: "clock", outcome: "ok", says: "plausible" };
}

function lockFinding(host: DoctorHost): Finding {
  const path = `${host.temp}/lock`;
  const first = tryLock(path);
  const second = first === null ? null : tryLock(path);
  second?.release();
  first?.release();
  if (first === null || second !== null) {
    return {
      check: "locks",
      outcome: "problem",
      says: "file locks do not exclude here",
      next: "Put TMPDIR and the state folder on a local disk.",
    };
  }
  return { check: "locks", outcome: "ok", says: "file locks exclude" };
}

function hostileFinding(host: DoctorHost): Finding {
  const set = ["BUN_OPTIONS", "BUN_BE_BUN"].filter((name) => host.environment[name] !== undefined);
  if (set.length > 0) {
    return {
      check: "environment",
      outcome: "problem",
      says: `${set.join(" and ")} set`,
      next: "Start with `env -u BUN_OPTIONS -u BUN_BE_BUN proctor …`.",
    };
  }
  return { check: "environment", outcome: "ok", says: "nothing that changes the runtime" };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // no /proc here: the finding says so
  }
}
