// The disposable project: which bytes it starts with, when its fixed file is hashed, and what git may read and run.
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256FileHex, sha256Hex } from "../../src/base/bytes.ts";
import { createFixture, findPython, requireCanonicalTests } from "../../src/harness/fixture.ts";
import { failureOf, runAcceptance } from "../../src/harness/harness.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { acceptOptions, stageRun } from "./stage-run.ts";

const source = (name: string) => readFileSync(`${projectRoot}fixtures/clamp/${name}`, "utf8");

function program(folder: string, name: string, body: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o700);
  return path;
}

/** A `git` that notes its words and then is the real one. */
function notingGit(folder: string, before = ""): string {
  const real = Bun.which("git") ?? "";
  program(folder, "git", `printf '%s\\n' "$*" >> ${folder}/calls\n${before}\nexec ${real} "$@"`);
  return folder;
}

function gitSays(folder: string, ...words: string[]): string {
  return Bun.spawnSync([Bun.which("git") ?? "", ...words], { cwd: folder, env: {} })
    .stdout.toString()
    .trim();
}

const codeOf = (promise: Promise<unknown>) => promise.then(() => "none", failureOf);

test("the fixed source holds its seven tests in both languages; fewer, none or more are refused (H074)", () => {
  for (const name of ["test_clamp.py.txt", "clamp-test.ts.txt"]) {
    const text = source(name);
    expect(() => requireCanonicalTests(text)).not.toThrow();
    expect(() => requireCanonicalTests(text + text)).toThrow("canonical_clamp_tests_missing");
  }
  expect(() => requireCanonicalTests("")).toThrow("canonical_clamp_tests_missing");
  const six = source("test_clamp.py.txt").replace("def test_works_below_zero", "def works_below_zero");
  expect(() => requireCanonicalTests(six)).toThrow("canonical_clamp_tests_missing");
});

test("createFixture() writes exactly the seed's files and commits them as its own person (H075 H079)", async () => {
  await using dir = await tempFolder();
  await using stage = stageRun(dir.path);
  const { run } = stage;

  const fixture = await createFixture(run, "/usr/bin/python3");

  const listed = gitSays(fixture.folder, "ls-files").split("\n");
  expect(listed).toEqual([
    ".gitignore",
    "README.md",
    "clamp.py",
    "test_clamp.py",
    "tests/fixtures/agent-loop-multi-file/alpha.txt",
    "tests/fixtures/agent-loop-multi-file/beta.txt",
  ]);
  expect(readdirSync(fixture.folder).sort()).toEqual([
    ".git",
    ".gitignore",
    "README.md",
    "clamp.py",
    "test_clamp.py",
    "tests",
  ]);
  const text = (name: string) => readFileSync(join(fixture.folder, name), "utf8");
  expect(text("test_clamp.py")).toBe(source("test_clamp.py.txt"));
  expect(text("clamp.py")).toBe("def clamp(value, lower, upper):\n    raise NotImplementedError\n");
  expect(text(".gitignore")).toBe("__pycache__/\n");
  expect(text("README.md")).toMatch(/^# .+\n$/);
  expect(gitSays(fixture.folder, "log", "--format=%an|%ae|%cn|%ce")).toBe(
    "Codex acceptance|acceptance@example.invalid|Codex acceptance|acceptance@example.invalid",
  );
  expect(gitSays(fixture.folder, "config", "--local", "--get-regexp", "^user")).toBe("");
  expect(readdirSync(run.space.home)).toEqual([]);
});

test("createFixture() takes the fixed file's hash before git can touch it (H077)", async () => {
  await using dir = await tempFolder();
  const bin = notingGit(join(dir.path, "bin"), 'echo "# edited" >> test_clamp.py');
  await using stage = stageRun(dir.path, { accept: { environment: { PATH: `${bin}:/usr/bin:/bin` } } });

  const fixture = await createFixture(stage.run, "/usr/bin/python3");

  expect(fixture.fixedBefore.sha256).toBe(sha256Hex(source("test_clamp.py.txt")));
  expect(sha256FileHex(join(fixture.folder, "test_clamp.py"))).not.toBe(fixture.fixedBefore.sha256);
  expect(stage.run.book.report["fixture"]).toMatchObject({ fixed_test_sha256: fixture.fixedBefore.sha256 });
});

test("no hook and no template of a hostile global configuration reaches the repository (H078)", async () => {
  await using dir = await tempFolder();
  const hooks = join(dir.path, "hooks");
  const fired = join(dir.path, "fired");
  for (const name of ["pre-commit", "post-commit", "post-checkout", "reference-transaction", "post-index-change"])
    program(hooks, name, `echo ${name} >> ${fired}`);
  program(join(dir.path, "template/hooks"), "pre-commit", `echo template >> ${fired}`);
  writeFileSync(
    join(dir.path, "gitconfig"),
    `[core]\nhooksPath = ${hooks}\n[init]\ntemplateDir = ${dir.path}/template\ndefaultBranch = elsewhere\n`,
  );
  const bin = notingGit(join(dir.path, "bin"));
  await using stage = stageRun(dir.path, { accept: { environment: { PATH: `${bin}:/usr/bin:/bin` } } });
  // The run's environment keeps such a file out; here the words of each command have to be enough.
  const env = { ...stage.run.env, GIT_CONFIG_GLOBAL: join(dir.path, "gitconfig") };

  const fixture = await createFixture({ ...stage.run, env }, "/usr/bin/python3");

  expect(await Bun.file(fired).exists()).toBe(false);
  expect(readFileSync(join(fixture.folder, ".git/HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
  expect(readdirSync(join(fixture.folder, ".git"))).not.toContain("hooks");
  const calls = readFileSync(join(bin, "calls"), "utf8").trim().split("\n");
  expect(calls).toHaveLength(3);
  for (const call of calls) expect(call).toContain("-c core.hooksPath=/dev/null -c maintenance.auto=false");
  expect(calls[0]).toContain("-c init.templateDir= ");
  expect(calls[0]).toEndWith("init -q -b main");
});

test("a git that fails, reads its input or hangs ends the fixture with its own code (H080)", async () => {
  for (const [name, body, code] of [
    ["fails", "exit 9", "fixture_git_setup_failed"],
    ["hangs", "exec sleep 600", "fixture_git_setup_failed"],
    ["reads", `cat > /dev/null; exec ${Bun.which("git")} "$@"`, "none"],
  ] as const) {
    await using dir = await tempFolder();
    program(join(dir.path, "bin"), "git", body);
    const environment = { PATH: `${dir.path}/bin:/usr/bin:/bin` };
    const doors = name === "hangs" ? { limits: { gitStepMs: 300 } } : {};
    await using stage = stageRun(dir.path, { accept: { environment }, doors });

    expect(await codeOf(createFixture(stage.run, null)), name).toBe(code);
    if (name === "fails") expect(stage.run.limits.gitStepMs).toBe(15_000);
  }
});

test("an old or missing python3 is refused when Python was asked for, and left alone otherwise (H006)", async () => {
  for (const version of ["old", "missing"] as const) {
    await using dir = await tempFolder();
    const bin = join(dir.path, "bin");
    program(bin, "git", "exit 9");
    // The question asks the interpreter itself: 3 is its answer for an older version.
    if (version === "old") program(bin, "python3", "exit 3");
    const environment = { PATH: bin };

    expect(await findPython(bin, "/")).toBeNull();
    const asked = acceptOptions(dir.path, { fixture: "python", environment });
    expect(await codeOf(runAcceptance(asked))).toBe("python_310_required");
    expect(readdirSync(dir.path)).toEqual(["bin"]);
    const report = await runAcceptance(acceptOptions(dir.path, { environment }));
    expect(report["failure"]).toBe("fixture_git_setup_failed");
    expect(readdirSync(join(dir.path, "out/project"))).toContain("clamp.ts");
  }
});
