// A few subjects as whole processes: a control plane, a runner and a consumer that are each wrong in one
// way, refused and blamed as the catalogue says. CI runs the whole catalogue with the built executable.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfCommand } from "../../src/base/self.ts";
import { calibrate } from "../../src/calibrate/run.ts";
import { Report } from "../../src/contract/report.ts";
import { tempFolder } from "../support/temp-folder.ts";

for (const only of ["server-redispatches-on-replay", "runner-prompts-twice", "consumer-leaves-daemon"])
  test(`${only} is refused and blamed as the catalogue says`, async () => {
    await using dir = await tempFolder();
    const environment = {
      PATH: process.env["PATH"] ?? "",
      HOME: dir.path,
      XDG_STATE_HOME: join(dir.path, "state"),
      TMPDIR: dir.path,
    };

    const { results } = await calibrate({ self: selfCommand, environment, folder: dir.path, only });

    expect(results.map(({ seen }) => seen)).toEqual(results.map(({ expected }) => expected));
  }, 120_000);

test("what was told, given, read, said and printed comes up in no evidence, however chatty consumer and agent are", async () => {
  await using dir = await tempFolder();
  const [subject, output] = [join(dir.path, "subject.json"), join(dir.path, "out")];
  const misbehave = { consumer: "honest-chatty", agent: "honest-chatty" };
  writeFileSync(subject, JSON.stringify({ id: "both-chatty", misbehave, limits: {} }), { mode: 0o600 });
  const { command, args } = selfCommand(["accept", "--subject", subject, "--output-dir", output, "--json"]);
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir.path,
    XDG_STATE_HOME: join(dir.path, "st"),
    TMPDIR: dir.path,
  };
  const child = Bun.spawn([command, ...args], {
    cwd: dir.path,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });

  const report = Report.parse(JSON.parse(await new Response(child.stdout).text()));

  expect([report.state, await child.exited]).toEqual(["passed", 0]);
  const where = new Set(report.canaries?.planted.map((one) => one.where));
  expect([...where].sort()).toEqual(["argument", "credential", "environment", "file", "prompt"]);
  expect(report.canaries?.found).toEqual([]);
}, 120_000);
