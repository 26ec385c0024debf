// The umask of a run: 077 over all it makes, and put back however the run ended.
import { afterEach, expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failureOf, runAcceptance } from "../../src/harness/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { acceptOptions } from "./stage-run.ts";

const umask = process.umask();
afterEach(() => {
  process.umask(umask);
});

test("a failing run leaves nothing open to others under umask 000, and gives the umask back (H004)", async () => {
  await using dir = await tempFolder();
  mkdirSync(join(dir.path, "bin"));
  // It fails only when it has written as carelessly as it can.
  writeFileSync(join(dir.path, "bin/git"), "#!/bin/sh\numask > umask-of-git\nmkdir made\nexit 9\n");
  chmodSync(join(dir.path, "bin/git"), 0o700);
  const environment = { PATH: `${dir.path}/bin:/usr/bin:/bin` };
  const during: number[] = [];
  const onPhase = () => during.push(process.umask());
  process.umask(0);

  const report = await runAcceptance(acceptOptions(dir.path, { environment, fixture: "typescript" }), { onPhase });

  expect(report["failure"]).toBe("fixture_git_setup_failed");
  expect(process.umask()).toBe(0);
  expect(new Set(during)).toEqual(new Set([0o077]));
  const output = join(dir.path, "out");
  const entries = (readdirSync(output, { recursive: true }) as string[]).concat("");
  expect(entries).toContain("project/made");
  expect(entries.filter((path) => (lstatSync(join(output, path)).mode & 0o077) !== 0)).toEqual([]);
});

test("a refusal before the folder exists gives the umask back too (H004)", async () => {
  await using dir = await tempFolder();
  process.umask(0o022);
  for (const more of [{ timeoutS: 1 }, { outputDir: dir.path }, { outputDir: join(dir.path, "a/b") }]) {
    const ended = await runAcceptance(acceptOptions(dir.path, { fixture: "typescript", ...more })).then(
      () => "none",
      failureOf,
    );
    expect(ended).not.toBe("none");
    expect(process.umask()).toBe(0o022);
  }
});
