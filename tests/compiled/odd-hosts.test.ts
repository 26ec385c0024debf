// The executable on hosts that are not as one would like: no tools, no writable home, odd umasks, a narrow terminal,
// a locale without UTF-8, switches of the runtime set by somebody else.
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { proctorBinary } from "../support/binary.ts";
import { runBinary } from "../support/run-binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { runOnTerminal } from "./on-terminal.ts";

// Whole runs on a machine that may do other things as well.
setDefaultTimeout(240_000);
const path = "/usr/bin:/bin";
const withUmask = (mask: string) => ["/bin/sh", "-c", `umask ${mask}; exec "$0" "$@"`];

/** Entries directly in `folder` that somebody else could open. */
function openEntries(folder: string): string[] {
  return readdirSync(folder).filter((name) => (statSync(`${folder}/${name}`).mode & 0o077) !== 0);
}

test("accept on a terminal of 40 columns, umask 000, NO_COLOR, LC_ALL=C: passes, colourless, every line fits, all private", async () => {
  await using dir = await tempFolder();
  mkdirSync(`${dir.path}/home`);

  const { code, raw, lines } = await runOnTerminal(["accept", "--fixture", "typescript"], {
    columns: 40,
    env: { PATH: path, HOME: `${dir.path}/home`, TMPDIR: dir.path, TERM: "xterm", NO_COLOR: "1", LC_ALL: "C" },
    cwd: dir.path,
    through: withUmask("000"),
  });

  expect(raw).toContain("PASSED");
  expect(raw).not.toMatch(/\u001b\[[0-9;]*m/);
  const living = lines.filter((line) => /^ {2}(?:preflight|consumer|managed) .* s {2}/.test(line));
  expect(living.length).toBeGreaterThan(2);
  for (const line of living) expect(line.length, line).toBeLessThanOrEqual(40);
  const run = readdirSync(dir.path).find((name) => name.startsWith("proctor-2"));
  expect(statSync(`${dir.path}/${run}`).mode & 0o777).toBe(0o700);
  expect(openEntries(`${dir.path}/${run}`)).toEqual([]);
  expect(statSync(`${dir.path}/home/.local/state/proctor`).mode & 0o777).toBe(0o700);
  expect(openEntries(`${dir.path}/home/.local/state/proctor`)).toEqual([]);
  expect(code).toBe(0);
});

test("accept with umask 077 and nothing on stdin passes and prints one JSON value", async () => {
  await using dir = await tempFolder();
  const words = ["accept", "--json", "--fixture", "typescript", "--output-dir", `${dir.path}/run`];
  const child = Bun.spawn([...withUmask("077"), proctorBinary, ...words], {
    cwd: dir.path,
    env: { PATH: path, HOME: dir.path, TMPDIR: dir.path },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);

  expect(JSON.parse(stdout).state).toBe("passed");
  expect(stderr).toBe("");
  expect(await child.exited).toBe(0);
});

test("accept without git, without anything on PATH: one clear code, exit 1, and doctor says what to install", async () => {
  await using dir = await tempFolder();
  const env = { PATH: "/nonexistent", HOME: dir.path, TMPDIR: dir.path };

  const { code, stdout } = await runBinary(["accept", "--json"], { cwd: dir.path, env });
  const doctor = JSON.parse((await runBinary(["doctor", "--json"], { env })).stdout);

  expect(JSON.parse(stdout).failure).toBe("git_required");
  expect(code).toBe(1);
  expect(doctor.healthy).toBe(false);
  expect(doctor.findings.find((one: { check: string }) => one.check === "git").next).toContain("Install git");
});

test("a home that cannot be written: accept says so by its code, doctor names the way out, version does not care", async () => {
  await using dir = await tempFolder();
  // Root may write anywhere but in the kernel's own trees; others are stopped by the mode.
  const home = process.getuid?.() === 0 ? "/proc" : `${dir.path}/closed`;
  if (home !== "/proc") mkdirSync(home, { mode: 0o500 });
  const env = { HOME: home, TMPDIR: dir.path };

  const accept = await runBinary(["accept", "--json", "--output-dir", `${dir.path}/run`], { cwd: dir.path, env });
  const doctor = JSON.parse((await runBinary(["doctor", "--json"], { env })).stdout);
  const elsewhere = await runBinary(["doctor", "--json"], { env: { ...env, XDG_STATE_HOME: `${dir.path}/state` } });

  expect(JSON.parse(accept.stdout).failure).toBe("private_file_unwritable");
  expect(accept.code).toBe(1);
  const finding = (value: { findings: Array<{ check: string }> }) =>
    value.findings.find((one) => one.check === "state folder") as unknown as { outcome: string; next?: string };
  expect(finding(doctor).outcome).toBe("problem");
  expect(finding(doctor).next).toContain("XDG_STATE_HOME");
  expect(finding(JSON.parse(elsewhere.stdout)).outcome).toBe("ok");
  expect((await runBinary(["version"], { env })).code).toBe(0);
});

test("help and doctor on a terminal of 40 columns fit it, save for what has no place to break", async () => {
  await using dir = await tempFolder();
  const options = { columns: 40, env: { PATH: path, HOME: dir.path, TERM: "dumb", LANG: "xx_YY" }, cwd: dir.path };

  const help = await runOnTerminal(["accept", "--help"], options);
  const overview = await runOnTerminal(["--help"], options);
  const doctor = await runOnTerminal(["doctor"], options);

  const body = help.lines.slice(0, help.lines.indexOf("Examples:"));
  expect(body.length).toBeGreaterThan(20);
  for (const line of [...body, ...overview.lines.slice(0, -4)]) expect(line.length, line).toBeLessThanOrEqual(40);
  for (const line of doctor.lines.filter((one) => one.startsWith("    "))) expect(line.length).toBeLessThanOrEqual(40);
  expect(doctor.raw).not.toContain("\u001b");
});

test("BUN_BE_BUN turns the file into Bun and BUN_OPTIONS loads code; the printed hook command is proof against both", async () => {
  await using dir = await tempFolder();
  const marker = `${dir.path}/loaded`;
  writeFileSync(`${dir.path}/evil.js`, `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "x");`);
  const hostile = { BUN_BE_BUN: "1", BUN_OPTIONS: `--preload ${dir.path}/evil.js` };

  // What cannot be refused, as docs/release.md says. Should a later Bun refuse it, this test says that the page is old.
  expect((await runBinary(["--version"], { env: { BUN_BE_BUN: "1" } })).stdout.trim()).toBe("1.4.5");
  await runBinary(["version"], { env: { BUN_OPTIONS: hostile.BUN_OPTIONS } });
  expect(existsSync(marker)).toBe(true);

  const config = (await runBinary(["hook", "config", "--config", `${dir.path}/observe.json`])).stdout;
  const command = JSON.parse(config).hooks.PostToolUse[0].hooks[0].command as string;
  expect(command).toStartWith("/usr/bin/env -u BUN_OPTIONS -u BUN_BE_BUN ");
  await Bun.file(marker).delete();
  const hook = Bun.spawnSync(["/bin/sh", "-c", command], { env: { PATH: path, ...hostile }, stdin: new Uint8Array() });
  expect(hook.stderr.toString()).toContain('"status": "incomplete"');
  expect(hook.exitCode).toBe(1);
  expect(existsSync(marker)).toBe(false);
});

test("a child gets no switch of a runtime, no Git or proxy variable and no secret", async () => {
  await using dir = await tempFolder();
  mkdirSync(`${dir.path}/bin`);
  writeFileSync(`${dir.path}/bin/git`, `#!/bin/sh\n/usr/bin/env > ${dir.path}/seen\necho git version 2.40.0\n`);
  chmodSync(`${dir.path}/bin/git`, 0o755);
  const planted = [
    "NODE_OPTIONS",
    "GIT_DIR",
    "GIT_CONFIG_COUNT",
    "HTTPS_PROXY",
    "https_proxy",
    "OPENAI_API_KEY",
    "LD_X",
  ];

  await runBinary(["doctor", "--json"], {
    cwd: dir.path,
    env: { PATH: `${dir.path}/bin`, HOME: dir.path, ...Object.fromEntries(planted.map((name) => [name, "canary"])) },
  });

  const seen = readFileSync(`${dir.path}/seen`, "utf8");
  expect(seen).toContain("PATH=");
  expect(seen).not.toContain("canary");
  expect(seen).not.toContain("BUN_");
});
