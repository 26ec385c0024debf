// `accept --fault` as a user starts it: one process ended at a named point, the table's outcome, one
// prompt, and never a pass that was not earned. `npm run calibrate -- --faults 20` runs every point 20 times.
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { selfCommand } from "../../src/base/self.ts";
import { Report } from "../../src/contract/report.ts";
import { tempFolder } from "../support/temp-folder.ts";

const waitMs = 120_000;

async function acceptIn(folder: string, words: readonly string[]) {
  const { command, args } = selfCommand(["accept", "--json", ...words]);
  const child = Bun.spawn([command, ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, XDG_STATE_HOME: join(folder, "host-state"), TMPDIR: folder },
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

for (const [fault, outcome, code] of [
  ["after_dispatch:SIGKILL", "passed", 0],
  ["before_terminal:SIGINT:server", "passed", 0],
  ["after_prompt_barrier:SIGKILL:adapter", "incomplete", 1],
] as const)
  test(
    `${fault} ends ${outcome}, with one prompt at most and the same three ids`,
    async () => {
      await using dir = await tempFolder();

      const words = ["--fault", fault, "--fixture", "typescript", "--output-dir", join(dir.path, "out")];
      const ended = await acceptIn(dir.path, words);
      const report = Report.parse(JSON.parse(ended.stdout));

      expect(report.fault).toMatchObject({ fired: true, breaches: [] });
      expect([report.verdict?.outcome, ended.code]).toEqual([outcome, code]);
      expect(report.facts?.audit?.prompts.length).toBeLessThanOrEqual(1);
      expect(report.census?.still_visible).toEqual([]);
      // An agent that is killed outside of its test run has no temporary folder, in the run's own or elsewhere.
      const temp = [...readdirSync(join(dir.path, "out", "private", "tmp")), ...readdirSync(dir.path)];
      expect(temp.filter((name) => name.startsWith("proctor-agent-"))).toEqual([]);
    },
    waitMs,
  );

test(
  "a wrong fault is one usage sentence and 64, before anything is made",
  async () => {
    await using dir = await tempFolder();
    for (const words of [
      ["--fault", "after_bind"],
      ["--fault", "after_bind:SIGTERM"],
      ["--fault", "after_bind:SIGINT:adapter"],
      ["--fault", "after_bind:SIGKILL", "--bin-dir", dir.path],
    ]) {
      const { stderr, code } = await acceptIn(dir.path, [...words, "--output-dir", join(dir.path, "out")]);
      expect([code, stderr.includes("--fault ")]).toEqual([64, true]);
    }
    expect(existsSync(join(dir.path, "out"))).toBe(false);
  },
  waitMs,
);

test(
  "--fail-fast starts no further stage once one has failed",
  async () => {
    await using dir = await tempFolder();
    const fault = ["--fixture", "typescript", "--fault", "after_bind:SIGKILL:consumer"];
    const words = ["--fail-fast", ...fault, "--output-dir", join(dir.path, "out")];

    const { stdout, code } = await acceptIn(dir.path, words);
    const report = Report.parse(JSON.parse(stdout));

    expect([report.consumer.failure, code]).toEqual(["consumer_process_failed", 1]);
    expect(report.facts?.managed).toBeNull();
    expect(report.fault?.breaches).toEqual([]);
  },
  waitMs,
);
