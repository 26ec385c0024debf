// The gate between the fork of a program and its note: a starter that is killed in between has started nothing.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type ProcessId } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { ownArguments, selfCommand } from "../../src/base/self.ts";
import { passGate, startNoted } from "../../src/base/start-gate.ts";
import { proctorBinary, projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const soon = { withinMs: 60_000, everyMs: 10 };
const touch = ["/usr/bin/touch", "/bin/touch"].find(existsSync) ?? "/usr/bin/touch";
const env = { PATH: "/usr/bin:/bin" };

test.if(process.platform === "linux")(
  "startNoted() begins the program after the note, in the noted process, with its own descriptors and no other",
  async () => {
    await using dir = await tempFolder();
    const path = join(dir.path, "facts");
    const noted: { id: ProcessId; begun: boolean }[] = [];
    const script = `const fs = require("node:fs");
      const open = fs.readdirSync("/proc/self/fd").filter((fd) => {
        try { return fs.readlinkSync("/proc/self/fd/" + fd).startsWith("socket:"); } catch { return false; }
      });
      fs.writeFileSync(${JSON.stringify(path)}, JSON.stringify({ pid: process.pid, open, env: process.env }));`;

    const group = startNoted(
      { command: process.execPath, args: ["-e", script], cwd: dir.path, env, extra: ["pipe"] },
      (id) => noted.push({ id, begun: existsSync(path) }),
    );
    const ended = await group.exited;

    expect(ended.code).toBe(0);
    expect(noted).toEqual([{ id: group.id, begun: false }]);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ pid: group.pid, open: ["3"], env });
    expect(group.extraPipes).toHaveLength(1);
  },
);

test("startNoted() has the program act as Bun, and nothing before it", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "facts");
  writeFileSync(
    join(dir.path, "says.ts"),
    `require("node:fs").writeFileSync(${JSON.stringify(path)}, JSON.stringify(process.env));`,
  );

  const group = startNoted(
    { command: proctorBinary, args: ["says.ts"], cwd: dir.path, env: { ...env, BUN_BE_BUN: "1" } },
    () => undefined,
  );

  expect((await group.exited).code).toBe(0);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ ...env, BUN_BE_BUN: "1" });
});

test.if(process.platform === "linux")("startNoted() hands this very program its own words", async () => {
  const group = startNoted({ ...selfCommand(["version"]), cwd: "/", env, stdout: "pipe" }, () => undefined);

  expect(await new Response(group.stdout).text()).toContain('"version"');
  expect((await group.exited).code).toBe(0);
});

test("startNoted() never begins the program when the note fails", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "begun");
  let id: ProcessId = { pid: 0, startTicks: 0 };

  const start = () =>
    startNoted({ command: touch, args: [path], cwd: dir.path, env }, (started) => {
      id = started;
      throw new Error("no room");
    });

  expect(start).toThrow("no room");
  expect(await holdsWithin(() => !isAlive(id), soon)).toBe(true);
  expect(existsSync(path)).toBe(false);
});

test.if(process.platform === "linux")(
  "startNoted() leaves nothing behind when its starter is killed between the start and the note",
  async () => {
    await using dir = await tempFolder();
    const path = join(dir.path, "begun");
    const starter = join(dir.path, "starter.ts");
    writeFileSync(
      starter,
      `import { writeSync } from "node:fs";
      import { startNoted } from ${JSON.stringify(`${projectRoot}src/base/start-gate.ts`)};
      const cwd = ${JSON.stringify(dir.path)};
      startNoted({ command: ${JSON.stringify(touch)}, args: [${JSON.stringify(path)}], cwd, env: {} }, (id) => {
        writeSync(1, JSON.stringify(id));
        process.kill(process.pid, "SIGKILL");
      });`,
    );

    const child = Bun.spawn([process.execPath, starter], { env, stdio: ["ignore", "pipe", "inherit"] });
    const id: ProcessId = JSON.parse(await new Response(child.stdout).text());
    await child.exited;

    expect(child.signalCode).toBe("SIGKILL");
    expect(await holdsWithin(() => !isAlive(id), soon)).toBe(true);
    expect(existsSync(path)).toBe(false);
  },
);

test("startNoted() refuses a program that cannot be executed before anything is started", () => {
  const start = () => startNoted({ command: "/nowhere/at-all", args: [], cwd: "/", env }, () => undefined);

  expect(start).toThrow(expect.objectContaining({ code: "program_not_started" }));
});

test("passGate() takes no number that is not an inherited channel", async () => {
  for (const word of ["0", "2", "10", "3x", "", "9"]) expect(await passGate(word)).toBe(false);
});

test("ownArguments() knows the words that start this very program, and no other", () => {
  const { command, args } = selfCommand(["server", "--version"]);

  expect(ownArguments(command, args)).toEqual(["server", "--version"]);
  // From source the program is Bun, and which it runs is its first word.
  const other = args.length > 2 ? command : "/elsewhere/proctor";
  expect(ownArguments(other, ["elsewhere.ts", "server"])).toBeNull();
  expect(ownArguments("/usr/bin/touch", args)).toBeNull();
});
