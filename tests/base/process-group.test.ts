import { expect, test } from "bun:test";
import {
  descendantsOf,
  groupMembers,
  isAlive,
  listeningPorts,
  parseStat,
  readProcess,
  signalExactly,
} from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { Descriptors, pollFlags, Watch } from "../../src/base/descriptors.ts";
import { codeOf } from "../../src/base/failure.ts";
import { closePidfd, openPidfd, signalPidfd } from "../../src/base/pidfd.ts";
import { startGroup } from "../../src/base/process-group.ts";
import { runProgram } from "../../src/base/run-program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const shell = (script: string) => ({ command: "/bin/sh", args: ["-c", script], cwd: "/", env });
const bounds = { timeoutMs: 30_000, maxOutputBytes: 1_000 };
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

async function firstLine(stream: ReadableStream<Uint8Array> | undefined): Promise<string> {
  let seen = "";
  for await (const part of stream ?? []) {
    seen += text(part);
    if (seen.includes("\n")) break;
  }
  return seen.trim();
}

test("startGroup() makes the program leader of its own session and group", async () => {
  const group = startGroup({ ...shell("echo ready; sleep 60"), stdout: "pipe" });
  await firstLine(group.stdout);
  const row = readProcess(group.pid);
  expect([row?.pgid, row?.sid, row?.startTicks]).toEqual([group.pid, group.pid, group.id.startTicks]);
  expect(group.running()).toBe(true);
  expect(await group.stop()).toBe("gone");
  expect(group.running()).toBe(false);
  expect(await group.exited).toEqual({ code: null, signal: "SIGTERM" });
});

test("stop() ends a wrapper that exits 0 on TERM and its child that ignores TERM (B55)", async () => {
  const script = "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done' & trap 'exit 0' TERM; wait";
  const group = startGroup({ ...shell(script), stdout: "pipe" });
  await firstLine(group.stdout);
  expect(groupMembers(group.pid).length).toBeGreaterThanOrEqual(2);

  expect(await group.stop({ termMs: 300, killMs: 20_000 })).toBe("gone");
  expect((await group.exited).code).toBe(0);
  expect(groupMembers(group.pid)).toEqual([]);
});

test("stop() still ends members whose leader has gone before", async () => {
  const group = startGroup({ ...shell("sleep 120 & exit 4"), stdout: "ignore" });
  expect((await group.exited).code).toBe(4);
  expect(group.running()).toBe(true);
  expect(await group.stop({ killMs: 20_000 })).toBe("gone");
  expect(await group.stop()).toBe("gone");
});

test("stop() ends a group also where no process table tells its members", async () => {
  const script = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
  const group = startGroup({ ...shell(script), stdout: "pipe", withoutProcessTable: true });
  await firstLine(group.stdout);
  expect(group.running()).toBe(true);
  expect(await group.stop({ termMs: 200, killMs: 20_000 })).toBe("gone");
  expect((await group.exited).signal).toBe("SIGKILL");
  // The number may be another group's by now, so it is not asked again.
  expect([group.running(), await group.stop()]).toEqual([false, "gone"]);
});

test("startGroup() fails with a code for a program that is not there", () => {
  let code = "none";
  try {
    startGroup({ command: "/no/such/program", args: [], cwd: "/", env });
  } catch (error) {
    code = codeOf(error);
  }
  expect(code).toBe("program_not_started");
});

test("runProgram() gives status, both outputs, and what was put in", async () => {
  const result = await runProgram({ ...shell("cat; echo no >&2; exit 3"), ...bounds, stdin: "yes" });
  expect([result.code, text(result.stdout), text(result.stderr)]).toEqual([3, "yes", "no\n"]);
  expect([result.timedOut, result.overflow, result.started]).toEqual([false, false, true]);
});

test("runProgram() takes output at its bound and ends a program that says one byte more", async () => {
  const fits = await runProgram({ ...shell("head -c 1000 /dev/zero"), ...bounds });
  expect([fits.stdout.length, fits.overflow]).toEqual([1_000, false]);
  const over = await runProgram({ ...shell("head -c 1001 /dev/zero; exec sleep 600"), ...bounds });
  expect([over.stdout.length, over.overflow]).toEqual([1_000, true]);
});

test("runProgram() ends a program at its deadline, with everything it started", async () => {
  const result = await runProgram({ ...shell("sleep 600 & echo $!; exec sleep 600"), ...bounds, timeoutMs: 1_000 });
  expect(result.timedOut).toBe(true);
  const row = readProcess(Number(text(result.stdout)));
  expect(row === null || row.state === "Z").toBe(true);
});

test("runProgram() comes back though an escaped descendant holds the pipe (B56)", async () => {
  await using dir = await tempFolder();
  // The leader stays until the escape is complete, or the group's end would still reach it.
  const script = "setsid sh -c 'echo $$; : >escaped; exec sleep 600' & while [ ! -e escaped ]; do sleep 0.05; done";
  const result = await runProgram({ ...shell(script), ...bounds, cwd: dir.path });
  const escaped = Number(text(result.stdout));
  const row = readProcess(escaped);
  expect(row?.state).not.toBe("Z");
  if (row !== null) expect(signalExactly(row, "SIGKILL")).toBe("signalled");
  expect([result.code, result.timedOut]).toEqual([0, false]);
});

test("runProgram() says that a program was never started", async () => {
  const result = await runProgram({ command: "/no/such/program", args: [], cwd: "/", env, ...bounds });
  expect(result).toMatchObject({ started: false, code: null });
});

test("runProgram() delivers more than one pipe buffer whole (B60)", async () => {
  const result = await runProgram({ ...shell("head -c 300000 /dev/zero"), ...bounds, maxOutputBytes: 400_000 });
  expect([result.stdout.length, result.code]).toEqual([300_000, 0]);
});

test.if(process.platform === "linux")(
  "a pidfd is readable once its process has ended, and signals nobody then",
  async () => {
    const kernel = Descriptors.open();
    const group = startGroup({ ...shell("echo ready; exec sleep 60"), stdout: "pipe" });
    await firstLine(group.stdout);
    const fd = openPidfd(group.pid);
    if (fd === null || kernel === null) throw new Error("no pidfd here");
    const watch = new Watch(1);
    const ended = (waitMs: number) => {
      watch.ask(0, fd, pollFlags.readable);
      return kernel.wait(watch, waitMs) > 0;
    };
    expect(ended(0)).toBe(false);
    expect(signalPidfd(fd, "SIGKILL")).toBe(true);
    expect(ended(20_000)).toBe(true);
    await group.exited;
    expect(signalPidfd(fd, "SIGKILL")).toBe(false);
    expect(openPidfd(2 ** 30)).toBeNull();
    closePidfd(fd);
  },
);

test("signalExactly() never signals another process that has the pid now, nor pid 1, nor ourselves", async () => {
  const group = startGroup({ ...shell("echo ready; exec sleep 60"), stdout: "pipe" });
  await firstLine(group.stdout);
  const other = { pid: group.pid, startTicks: group.id.startTicks - 1 };
  expect(signalExactly(other, "SIGKILL")).toBe("gone");
  expect(isAlive(other)).toBe(false);
  expect(isAlive(group.id)).toBe(true);
  for (const pid of [1, 0, -group.pid, process.pid]) {
    expect(signalExactly({ pid, startTicks: 0 }, "SIGKILL")).toBe("refused");
  }
  expect(signalExactly(group.id, "SIGKILL")).toBe("signalled");
  expect(await holdsWithin(() => !isAlive(group.id), { withinMs: 20_000 })).toBe(true);
  expect(signalExactly(group.id, "SIGKILL")).toBe("gone");
});

test("descendantsOf() finds grandchildren, nearest first, and nobody else", async () => {
  const row = (pid: number, ppid: number) => ({ pid, ppid, pgid: 1, sid: 1, startTicks: 1, state: "S", name: "x" });
  const rows = [row(5, 4), row(4, 3), row(9, 8), row(3, 2)];
  expect(descendantsOf([3], rows).map(({ pid }) => pid)).toEqual([4, 5]);
  expect(descendantsOf([7], rows)).toEqual([]);
});

test("parseStat() reads a name with blanks and brackets", () => {
  const fields = ["S", "7", "8", "9", ...Array.from({ length: 15 }, () => "0"), "4242", "0"];
  expect(parseStat(`12 (a) b (c) ${fields.join(" ")}`)).toEqual({
    pid: 12,
    name: "a) b (c",
    state: "S",
    ppid: 7,
    pgid: 8,
    sid: 9,
    startTicks: 4242,
  });
  expect(parseStat("")).toBeNull();
});

test("listeningPorts() names the ports on which a process listens", () => {
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  expect(listeningPorts(process.pid)).toContain(server.port ?? 0);
});
