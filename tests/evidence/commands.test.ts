// The commands verify, report and merge as a user types them: exit numbers, JSON, and the files they write.
import { expect, test } from "bun:test";
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfCommand } from "../../src/base/self.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { honestReport, withVerdict, writeReport, writeRun } from "./honest-report.ts";

async function run(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const { command, args: words } = selfCommand(args);
  const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent" };
  const child = Bun.spawn([command, ...words], { stdout: "pipe", stderr: "pipe", env });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}

test("verify: 0 for a passed run that agrees, 1 for a failed, a changed or an absent one, 64 for extra words", async () => {
  await using folder = await tempFolder();
  const digest = writeRun(folder.path);
  const good = await run(["verify", folder.path, "--digest", digest]);
  expect(good.code).toBe(0);
  expect(JSON.parse(good.out)).toMatchObject({ agrees: true, state: "passed", digest_checked: true });
  const report = honestReport();
  report.facts!.consumer!.fixture_unchanged = false;
  writeReport(folder.path, withVerdict({ ...report, consumer: { ...report.consumer, passed: false } }));
  const failed = await run(["verify", folder.path]);
  expect([failed.code, JSON.parse(failed.out).agrees]).toEqual([1, true]);
  const absent = await run(["verify", join(folder.path, "absent")]);
  expect([absent.code, absent.out]).toEqual([1, ""]);
  expect(absent.err).toContain("There is no report.json here.");
  expect((await run(["verify", folder.path, "more"])).code).toBe(64);
});

test("report: writes page and JUnit privately and says the digest", async () => {
  await using folder = await tempFolder();
  const digest = writeRun(folder.path);
  const html = join(folder.path, "report.html");
  const junit = join(folder.path, "junit.xml");
  const done = await run(["report", folder.path, "--html", html, "--junit", junit, "--json"]);
  expect(done.code).toBe(0);
  expect(JSON.parse(done.out)).toEqual({ state: "passed", outcome: "passed", phase: "closed", digest, html, junit });
  expect(statSync(html).mode & 0o777).toBe(0o600);
  expect(readFileSync(html, "utf8")).toContain(digest);
  expect(readFileSync(junit, "utf8")).toContain(digest);
  expect((await run(["verify", folder.path])).code).toBe(0);
});

test("report and merge leave a file alone that is named as the page and .tmp", async () => {
  await using folder = await tempFolder();
  await using mine = await tempFolder();
  writeRun(folder.path);
  for (const name of ["page.tmp", "junit.tmp"]) writeFileSync(join(mine.path, name), "my own");
  const [html, junit] = ["page", "junit"].map((name) => join(mine.path, name)) as [string, string];

  expect((await run(["report", folder.path, "--html", html, "--junit", junit])).code).toBe(0);
  expect((await run(["merge", folder.path, "--html", html])).code).toBe(0);

  for (const name of ["page.tmp", "junit.tmp"]) expect(readFileSync(join(mine.path, name), "utf8")).toBe("my own");
  expect(readdirSync(mine.path).sort()).toEqual(["junit", "junit.tmp", "page", "page.tmp"]);
});

test("merge: one page over many, 1 as soon as one of them is not whole", async () => {
  await using one = await tempFolder();
  await using two = await tempFolder();
  writeRun(one.path);
  writeRun(two.path);
  const html = join(one.path, "report.html");
  const good = await run(["merge", one.path, two.path, "--html", html]);
  expect([good.code, JSON.parse(good.out).passed]).toEqual([0, 2]);
  expect(readFileSync(html, "utf8")).toContain("2 of 2 passed");
  const bad = await run(["merge", one.path, join(two.path, "absent")]);
  expect([bad.code, JSON.parse(bad.out).unreadable]).toEqual([1, 1]);
});

test("report and merge: a link, a pipe or a folder where the page belongs stays what it was", async () => {
  await using folder = await tempFolder();
  writeRun(folder.path);
  await using places = await tempFolder();
  symlinkSync("/nowhere", join(places.path, "link"));
  expect(Bun.spawnSync(["mkfifo", join(places.path, "pipe")]).exitCode).toBe(0);
  for (const [name, words] of [
    ["link", ["report", folder.path, "--html"]],
    ["pipe", ["report", folder.path, "--junit"]],
    ["pipe", ["merge", folder.path, "--html"]],
    [".", ["report", folder.path, "--html"]],
  ] as const) {
    const place = join(places.path, name);
    const before = lstatSync(place).ino;
    const refused = await run([...words, place]);
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("[evidence_unwritable]");
    expect(lstatSync(place).ino).toBe(before);
  }
});
