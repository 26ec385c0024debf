// A run at a person's desk: the home folder is left as it was, and a repository around the evidence takes in no secret.
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../src/base/bytes.ts";
import { proctorBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

test("accept writes no Codex configuration of the user, and a repository around its evidence never takes the credentials in (O017 O032)", async () => {
  await using dir = await tempFolder();
  const home = join(dir.path, "home");
  const work = join(dir.path, "work");
  for (const path of [join(home, ".codex/sessions"), work]) mkdirSync(path, { recursive: true });
  writeFileSync(join(home, ".codex/config.toml"), 'model = "mine"\n[mcp_servers.mine]\nurl = "https://mine.example"\n');
  writeFileSync(join(home, ".codex/auth.json"), '{"tokens":"not a real one"}\n');
  writeFileSync(join(home, ".codex/sessions/one.jsonl"), "{}\n");
  const before = filesIn(home).map((path) => [path, sha256Hex(readFileSync(path))]);
  const env = { PATH: "/usr/bin:/bin", HOME: home, CODEX_HOME: join(home, ".codex"), TMPDIR: dir.path };
  const git = (...words: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=n", "-c", "user.email=e@example.invalid", ...words], { cwd: work, env });
  git("init", "-q");
  const output = join(work, "evidence");
  const words = ["accept", "--json", "--fixture", "typescript", "--output-dir", output];

  const run = Bun.spawn([proctorBinary, ...words], {
    cwd: work,
    env: { ...env, XDG_STATE_HOME: join(dir.path, "state") },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const report = JSON.parse(await new Response(run.stdout).text());

  expect(await run.exited).toBe(0);
  expect(filesIn(home).map((path) => [path, sha256Hex(readFileSync(path))])).toEqual(before);

  const recovery = JSON.parse(readFileSync(join(output, "private/recovery.json"), "utf8"));
  const secrets = [recovery.bootstrap, recovery.operator_token, recovery.consumer_token];
  expect(secrets.every((secret) => typeof secret === "string" && secret.length >= 32)).toBe(true);
  expect(report.canaries).toMatchObject({ found: [], wrong_modes: [] });
  git("add", "-A");
  git("commit", "-qm", "evidence");
  const kept = git("ls-files").stdout.toString().split("\n");
  expect(kept).toContain("evidence/report.json");
  expect(kept).toContain("evidence/projects/fixture.toml");
  expect(kept.filter((path) => path.includes("private/"))).toEqual([]);
  // The fixture is a repository of its own, which git keeps by its name alone.
  for (const path of kept.filter((one) => one !== "" && one !== "evidence/project")) {
    const text = readFileSync(join(work, path), "latin1");
    expect([path, secrets.filter((secret) => text.includes(secret))]).toEqual([path, []]);
  }
}, 240_000);
