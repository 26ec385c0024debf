// Closed and slow standard streams: a result is whole or nobody reads it, and a closed stream never becomes a file.
import { expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
} from "node:fs";
import { systemCodeOf } from "../../src/base/failure.ts";
import { proctorBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A command whose result is some 300 KB: the printed configuration repeats the paths it was given. */
const longPath = `/${"long-name/".repeat(10_000)}end`;
const longWords = ["hook", "config", "--config", longPath, "--registry", longPath];
const env = { PATH: "/usr/bin:/bin", HOME: "/proc/nonexistent" };

/** Reads a pipe in small pieces, giving the writer every chance to find it full. */
async function readSlowly(fd: number, ended: () => boolean): Promise<string> {
  const piece = Buffer.alloc(1_000);
  let text = "";
  for (;;) {
    try {
      const read = readSync(fd, piece, 0, piece.length, null);
      if (read === 0 && ended()) return text;
      text += piece.toString("latin1", 0, read);
    } catch (error) {
      if (systemCodeOf(error) !== "EAGAIN") throw error;
      if (ended()) return text;
    }
    await Bun.sleep(0);
  }
}

for (const kind of ["blocking", "non-blocking"] as const) {
  test(`300 KB reach a reader of 1,000 bytes at a time whole through a ${kind} pipe`, async () => {
    await using dir = await tempFolder();
    const pipe = `${dir.path}/pipe`;
    expect(Bun.spawnSync(["/usr/bin/mkfifo", "-m", "600", pipe]).exitCode).toBe(0);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(pipe, constants.O_WRONLY | (kind === "blocking" ? 0 : constants.O_NONBLOCK));
    const child = Bun.spawn([proctorBinary, ...longWords], { env, stdin: "ignore", stdout: writer, stderr: "pipe" });
    closeSync(writer);

    const text = await readSlowly(reader, () => child.exitCode !== null);
    closeSync(reader);

    expect(await new Response(child.stderr).text()).toBe("");
    expect(text.length).toBeGreaterThan(300_000);
    expect(Object.keys(JSON.parse(text).hooks)).toEqual(["PostToolUse", "SessionStart", "UserPromptSubmit"]);
    expect(await child.exited).toBe(0);
  });
}

test("a reader that leaves after one line is no crash: no trace, no signal", async () => {
  const shell = `"$0" "$@" | head -n 1`;
  const ran = Bun.spawnSync(["/bin/bash", "-o", "pipefail", "-c", shell, proctorBinary, ...longWords], { env });

  expect(ran.stdout.toString()).toBe("{\n");
  expect(ran.stderr.toString()).toBe("");
  expect([0, 1]).toContain(ran.exitCode);
});

test("a full device ends calmly, and an acceptance run does not wait on it", async () => {
  await using dir = await tempFolder();
  const full = openSync("/dev/full", "w");
  const taken = ["accept", "--output-dir", dir.path];
  try {
    for (const words of [longWords, ["--help"], ["verify", "--help"], taken, [...taken, "--json"]]) {
      const run = { env: { ...env, HOME: dir.path }, stdin: "ignore", stdout: full } as const;
      const child = Bun.spawn([proctorBinary, ...words], { ...run, stderr: "pipe" });
      expect(await new Response(child.stderr).text()).toMatch(/\[(output_unwritable|output_folder_exists)\]\n$/);
      expect(await child.exited).toBe(1);
      const mute = Bun.spawn([proctorBinary, ...words], { ...run, stderr: full });
      expect(await mute.exited).toBe(1);
    }
  } finally {
    closeSync(full);
  }
});

const closings = ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"];
for (const closing of closings) {
  test(`with ${closing} the exit number is the same as ever`, () => {
    const exit = (words: readonly string[]) =>
      Bun.spawnSync(["/bin/sh", "-c", `exec "$0" "$@" ${closing}`, proctorBinary, ...words], { env }).exitCode;

    expect(exit(["version"])).toBe(0);
    expect(exit(["version", "--no-such-flag"])).toBe(64);
    expect(exit(["verify", "/nonexistent"])).toBe(1);
    expect(exit(["relay", "--audit", "/proc/nonexistent/audit", "--", "cat"])).toBe(125);
  });
}

test("a hook started with all streams closed still saves, and nothing it prints lands in a file", async () => {
  await using dir = await tempFolder();
  const [project, state, config] = [`${dir.path}/project`, `${dir.path}/state`, `${dir.path}/observe.json`];
  for (const one of [project, state]) mkdirSync(one, { mode: 0o700 });
  const observed = {
    server_url: "http://127.0.0.1:1",
    authorization_file: `${dir.path}/auth`,
    project: "agent:test:project",
    project_root: project,
    workflow_session_id: "wc_sess_test",
    local_session_id: "local-test",
    state_dir: state,
  };
  for (const [file, text] of Object.entries({
    [config]: JSON.stringify(observed),
    [observed.authorization_file]: "Bearer x\n",
  })) {
    writeFileSync(file, text);
    chmodSync(file, 0o600);
  }
  const event = {
    hook_event_name: "PostToolUse",
    session_id: "local-test",
    tool_use_id: "c-1",
    tool_name: "Bash",
    cwd: project,
  };
  writeFileSync(`${dir.path}/payload`, JSON.stringify(event));
  const shell = `exec "$0" hook observe --config ${config} --json < ${dir.path}/payload >&- 2>&-`;

  Bun.spawnSync(["/bin/sh", "-c", shell, proctorBinary], { env });

  const records = readdirSync(state).filter((name) => /^[0-9a-f]{64}\./.test(name));
  expect(records.length).toBe(1);
  expect(JSON.parse(readFileSync(`${state}/${records[0]}`, "utf8"))).toBeObject();
  for (const name of readdirSync(state))
    expect(readFileSync(`${state}/${name}`, "utf8"), name).not.toContain("proctor hook");
});
