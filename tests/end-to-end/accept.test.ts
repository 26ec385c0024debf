// The acceptance run as a user starts it, from source: every seat embedded, real processes, real files.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256FileHex } from "../../src/base/bytes.ts";
import { selfCommand } from "../../src/base/self.ts";
import { acceptSummary } from "../../src/commands/accept-summary.ts";
import { Report } from "../../src/contract/report.ts";
import { tempFolder } from "../support/temp-folder.ts";

const waitMs = 120_000;

function startAccept(folder: string, words: readonly string[]) {
  const { command, args } = selfCommand(["accept", "--json", ...words]);
  return Bun.spawn([command, ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, XDG_STATE_HOME: join(folder, "host-state"), TMPDIR: folder },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function endOf(child: ReturnType<typeof startAccept>) {
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, code };
}

function reportIn(folder: string): Report | null {
  try {
    return Report.parse(JSON.parse(readFileSync(join(folder, "report.json"), "utf8")));
  } catch {
    return null; // not there yet
  }
}

test(
  "accept passes with every seat embedded and leaves evidence (H018 H019 H034 H035 H045 H073 H076 H081 H083 H088 H090 H100 H134 H142 H157 H180 H182 H187 H201 H202 H203 H204 H205 H216 H217 H218 H219 H220)",
  async () => {
    await using dir = await tempFolder();
    const output = join(dir.path, "out");

    const { stdout, code } = await endOf(startAccept(dir.path, ["--output-dir", output, "--host-job-id", "job-7"]));
    const report = Report.parse(JSON.parse(stdout));

    expect(report.verdict?.rules.filter((rule) => rule.outcome !== "pass")).toEqual([]);
    expect([report.state, report.phase, report.host_job_id, code]).toEqual(["passed", "closed", "job-7", 0]);
    expect(report).toMatchObject({
      consumer: { passed: true, native_file_comparison: true, fixture_unchanged: true },
      managed: { passed: true, business_acceptance: true },
      recovery: {
        passed: true,
        phase_before_disconnect: "in_flight",
        exact_binding_replay_same_run: true,
        actual_prompt_dispatches: 1,
        adapter_processes: 1,
      },
      cleanup: {
        process_cleanup_finished: true,
        server_stopped: true,
        runner_stopped: true,
        consumer_stopped: true,
        consumer_group_stopped: true,
        private_recovery_state_retained: true,
        execution_terminal_observed: true,
      },
    });
    const verify = selfCommand(["verify", output]);
    const verified = Bun.spawnSync([verify.command, ...verify.args], { env: {} });
    expect(JSON.parse(verified.stdout.toString())).toMatchObject({ agrees: true, findings: [] });
    expect(report.census?.still_visible).toEqual([]);
    expect(report.canaries?.found).toEqual([]);
    expect(report.script_sha256).toBe(sha256FileHex(verify.command));
    expect(sha256FileHex(join(output, "implementation.diff"))).toBe(report.facts?.managed?.diff_sha256 ?? "");
    const kept = readdirSync(join(output, "private"));
    expect(kept).toContain("recovery.json");
    expect(kept.filter((name) => name.endsWith(".log") || name === "consumer.jsonl")).toEqual([]);
    for (const name of ["", "private", "project", "projects"])
      expect(statSync(join(output, name)).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(dir.path, "host-state/proctor/live"))).toEqual([]);
  },
  waitMs,
);

test(
  "accept passes with the TypeScript fixture, run by this executable itself",
  async () => {
    await using dir = await tempFolder();
    const output = join(dir.path, "out");

    const { code } = await endOf(startAccept(dir.path, ["--output-dir", output, "--fixture", "typescript"]));

    expect(reportIn(output)?.verdict?.rules.filter((rule) => rule.outcome !== "pass")).toEqual([]);
    expect(code).toBe(0);
  },
  waitMs,
);

test(
  "accept refuses before anything starts, with one object and status 1 (H001 H003 H007 H009 H020)",
  async () => {
    await using dir = await tempFolder();
    for (const [words, failure] of [
      [["--output-dir", dir.path], "output_folder_exists"],
      [["--output-dir", join(dir.path, "a/b")], "output_folder_parent_missing"],
      [["--output-dir", join(dir.path, "x"), "--timeout", "29"], "invalid_timeout"],
      [["--output-dir", join(dir.path, "x"), "--timeout", "901"], "invalid_timeout"],
      [["--output-dir", join(dir.path, "x"), "--codex-path", join(dir.path, "none")], "seat_path_missing"],
    ] as const) {
      const { stdout, code } = await endOf(startAccept(dir.path, words));
      expect([JSON.parse(stdout), code]).toEqual([{ state: "failed", failure }, 1]);
    }
    expect(existsSync(join(dir.path, "x"))).toBe(false);
  },
  waitMs,
);

test("accept refuses a --node-path that nothing would use, before anything is made", async () => {
  await using dir = await tempFolder();

  const words = ["--output-dir", join(dir.path, "x"), "--node-path", dir.path];
  const { stdout, stderr, code } = await endOf(startAccept(dir.path, words));

  expect([stdout, code]).toEqual(["", 64]);
  expect(stderr).toContain("needs --adapter-script");
  expect(existsSync(join(dir.path, "x"))).toBe(false);
});

test("accept that cannot ask a program for its version says which one", async () => {
  await using dir = await tempFolder();
  const empty = realpathSync(dir.path);

  const { stdout, code } = await endOf(
    startAccept(dir.path, ["--output-dir", join(dir.path, "x"), "--bin-dir", empty]),
  );

  const report = JSON.parse(stdout);
  expect([report.failure, code]).toEqual(["version_probe_failed", 1]);
  expect(report.notes).toEqual([`version_probe_failed: ${empty}/webcodex-server`]);
  const shown = await acceptSummary(report);
  expect(shown).toContain(`note          version_probe_failed: ${empty}/webcodex-server\n`);
});
