// A save that is cut: killed before each system call that touches the state folder, or told by the kernel that there is
// no room, no right or a broken disk. The event is saved or visibly not, and the next run saves it whole.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { selfCommand } from "../../src/base/self.ts";
import { type Desk, desk, runProctor } from "./desk.ts";

const strace = Bun.which("strace");

interface Cut {
  readonly killed: boolean;
  readonly code: number | null;
  readonly said: string;
}

const observe = (d: Desk) => ["hook", "observe", "--config", d.configPath, "--deliver", "background"];
const recordsOf = (d: Desk) => readdirSync(d.state).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));

/** Runs the hook with one system call of its own tampered with; only calls on `paths` count. */
async function cut(d: Desk, inject: string, paths: readonly string[]): Promise<Cut> {
  const self = selfCommand(observe(d));
  const watch = paths.flatMap((path) => ["-P", path]);
  const words = ["-o", "/dev/null", "-e", `inject=${inject}`, ...watch, self.command, ...self.args];
  const child = Bun.spawn([strace!, ...words], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdin: new Blob([d.payload()]),
    stdout: "ignore",
    stderr: "pipe",
  });
  const said = await new Response(child.stderr).text();
  await child.exited;
  return { killed: child.signalCode === "SIGKILL" || child.exitCode === 137, code: child.exitCode, said };
}

/** The record's path and its whole text, as an undisturbed run leaves them. */
async function wholeRecord(d: Desk): Promise<{ path: string; text: string }> {
  await runProctor(observe(d), { input: d.payload() });
  const [name] = recordsOf(d);
  const path = `${d.state}/${name}`;
  return { path, text: readFileSync(path, "utf8") };
}

/** True where a program may be traced and its calls tampered with. */
async function traceable(): Promise<boolean> {
  if (strace === null) return false;
  await using d = await desk();
  return (await cut(d, "fsync:error=EIO", [d.state])).said.includes("incomplete");
}

const able = await traceable();

test.skipIf(!able)(
  "killed before any call on the state folder, a hook that said saved has saved, and the next run saves whole (O101)",
  async () => {
    await using d = await desk();
    const whole = await wholeRecord(d);

    let moments = 0;
    for (const call of ["getdents64", "openat", "fchmod", "write", "fsync", "close"]) {
      for (let when = 1; when < 20; when++) {
        rmSync(whole.path, { force: true });
        const run = await cut(d, `${call}:signal=KILL:when=${when}`, [d.state, whole.path]);
        if (run.said.includes("saved")) expect(readFileSync(whole.path, "utf8")).toBe(whole.text);
        if (!run.killed) break;
        moments += 1;
        const again = await runProctor(observe(d), { input: d.payload() });
        expect([again.code, again.stderr]).toEqual([0, '{"status": "saved"}\n']);
        expect(recordsOf(d).map((name) => readFileSync(`${d.state}/${name}`, "utf8"))).toEqual([whole.text]);
      }
    }

    // Folder checked, listed, record made, given its rights, written, synced and closed, folder synced, listed again.
    expect(moments).toBeGreaterThan(12);
  },
  300_000,
);

test.skipIf(!able)(
  "no room, a read-only folder and a broken disk are an event that was not saved, and said so; later it is saved",
  async () => {
    await using d = await desk();
    const whole = await wholeRecord(d);
    const faults = [
      "openat:error=ENOSPC",
      "openat:error=EROFS",
      "openat:error=EACCES",
      "write:error=ENOSPC",
      "fsync:error=EIO",
    ];

    for (const fault of faults) {
      rmSync(whole.path, { force: true });
      const run = await cut(d, fault, [whole.path]);
      expect([fault, run.code, JSON.parse(run.said)]).toEqual([
        fault,
        1,
        { status: "incomplete", reason: "event_not_saved" },
      ]);
      expect([fault, recordsOf(d)]).toEqual([fault, []]);
    }
    const after = await runProctor(observe(d), { input: d.payload() });

    expect(after.code).toBe(0);
    expect(readFileSync(whole.path, "utf8")).toBe(whole.text);
  },
  180_000,
);
