// What `accept` prints where: pipes, terminals wide and narrow, `--json`, `--help`. The runs end early, at a git that fails.
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holdsWithin } from "../../src/base/clock.ts";
import { proctorBinary } from "../support/binary.ts";
import { type TempFolder, tempFolder } from "../support/temp-folder.ts";

const waitMs = 300_000;

async function folderWithFailingGit(): Promise<TempFolder> {
  const dir = await tempFolder();
  mkdirSync(join(dir.path, "bin"));
  writeFileSync(join(dir.path, "bin/git"), "#!/bin/sh\nexit 9\n");
  chmodSync(join(dir.path, "bin/git"), 0o700);
  return dir;
}

function environmentIn(dir: TempFolder, more: Record<string, string> = {}): Record<string, string> {
  return { PATH: `${dir.path}/bin:/usr/bin:/bin`, HOME: dir.path, ...more };
}

async function piped(dir: TempFolder, ...words: string[]) {
  const child = Bun.spawn([proctorBinary, "accept", "--fixture", "typescript", ...words], {
    cwd: dir.path,
    env: environmentIn(dir),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, code };
}

/** What a terminal of this size got, as it came. */
async function onTerminal(dir: TempFolder, columns: number, env: Record<string, string>): Promise<string> {
  const decoder = new TextDecoder();
  let shown = "";
  const child = Bun.spawn([proctorBinary, "accept", "--fixture", "typescript"], {
    cwd: dir.path,
    env: environmentIn(dir, env),
    terminal: {
      cols: columns,
      rows: 24,
      data: (_, data) => {
        shown += decoder.decode(data, { stream: true });
      },
    },
  });
  expect(await child.exited).toBe(1);
  // The last bytes may still be on their way through the terminal.
  await holdsWithin(() => /\n {8}proctor (verify|report) [^\n]*\n$/.test(shown), { withinMs: 30_000, everyMs: 10 });
  child.terminal?.close();
  return shown;
}

test(
  "in a pipe stderr gets plain lines and the last screen, stdout the report alone",
  async () => {
    await using dir = await folderWithFailingGit();

    const { stdout, stderr, code } = await piped(dir, "--host-job-id", "jöb 7");

    const lines = stderr.split("\n");
    expect(lines[0]).toStartWith("Evidence: ");
    expect(lines.slice(1, 5).map((line) => line.replace(/^ *[0-9.]+ s {2}/, ""))).toEqual([
      "preflight",
      "failed",
      "closed",
      expect.stringMatching(/^FAILED in [0-9.]+ s$/),
    ]);
    expect(stderr).not.toContain("\r");
    expect(stderr).not.toContain("\x1b");
    expect(stderr).toContain("  fixture_git_setup_failed: git could not make the fixture's repository.\n");
    expect(stderr).toContain("Whose doing: the host.");
    const report = JSON.parse(stdout);
    expect([report.state, report.host_job_id, code]).toEqual(["failed", "jöb 7", 1]);
    expect(report.model).toBe("gpt-5.6-luna");
    expect(JSON.parse(readFileSync(join(report.output_dir, "report.json"), "utf8"))).toEqual(report);
  },
  waitMs,
);

test(
  "--json is silent on stderr, and host_job_id is null unless it was given (H013)",
  async () => {
    await using dir = await folderWithFailingGit();

    const without = await piped(dir, "--json");
    const given = await piped(dir, "--json", "--host-job-id", "4711");

    expect([without.stderr, given.stderr]).toEqual(["", ""]);
    const reports = [without, given].map(({ stdout }) => JSON.parse(stdout));
    expect(reports.map((report) => report.host_job_id)).toEqual([null, "4711"]);
    for (const report of reports) expect(String(report.process_id)).not.toBe(report.host_job_id);
  },
  waitMs,
);

const plain = (text: string) => text.replace(/\x1b\[[0-9;]*[mK]/g, "");

test(
  "a narrow terminal gets lines that fit, colour unless it is unwelcome, and a dumb one plain lines",
  async () => {
    await using dir = await folderWithFailingGit();

    const narrow = await onTerminal(dir, 24, { TERM: "xterm" });
    const colourless = await onTerminal(dir, 80, { TERM: "xterm", NO_COLOR: "1" });
    const dumb = await onTerminal(dir, 80, { TERM: "dumb" });

    const living = narrow.split(/[\r\n]+/).filter((line) => line.includes("\x1b[K"));
    expect(living.length).toBeGreaterThan(1);
    for (const line of living) expect(plain(line).length).toBeLessThan(24);
    expect(colourless).toContain("\x1b[K");
    expect(colourless).not.toContain("\x1b[3");
    expect(colourless).toMatch(/\r {2}fixtures +[0-9.]+ s {2}not passed\x1b\[K\r\n/);
    expect(dumb).not.toContain("\x1b");
    expect(dumb).toMatch(/\r\n *[0-9.]+ s {2}failed\r\n/);
  },
  waitMs,
);

test("--help says the default time-out and has no word for model or effort (H008 H015)", async () => {
  const help = Bun.spawnSync([proctorBinary, "accept", "--help"], { env: {} }).stdout.toString();
  const flags = [...help.matchAll(/--[a-z-]+/g)].map(([flag]) => flag);

  expect(help).toMatch(/--timeout[^\n]*[\s\S]{0,120}300/);
  expect(flags).toContain("--model-endpoint");
  expect(flags.filter((flag) => /^--(model|effort|reasoning.*)$/.test(flag))).toEqual([]);
  for (const word of ["--model=x", "--effort=high"])
    expect(Bun.spawnSync([proctorBinary, "accept", word], { env: {} }).exitCode).toBe(64);
});
