// The disposable project: the fixed tests, a scaffold that fails them, two files to read, and a git repository.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import alphaText from "../../fixtures/clamp/alpha.txt" with { type: "text" };
import betaText from "../../fixtures/clamp/beta.txt" with { type: "text" };
import pythonScaffold from "../../fixtures/clamp/clamp.py.txt" with { type: "text" };
import tsScaffold from "../../fixtures/clamp/clamp.ts.txt" with { type: "text" };
import tsTests from "../../fixtures/clamp/clamp-test.ts.txt" with { type: "text" };
import pythonTests from "../../fixtures/clamp/test_clamp.py.txt" with { type: "text" };
import { sha256FileHex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { createPrivateFolder } from "../base/private-files.ts";
import { runProgram } from "../base/run-program.ts";
import type { FileIdentity } from "../contract/report.ts";
import { newCanary } from "./canaries.ts";
import type { HarnessCode } from "./codes.ts";
import { harnessLimits } from "./limits.ts";
import type { Run } from "./run.ts";

export interface Fixture {
  readonly language: "python" | "typescript";
  readonly folder: string;
  readonly implementation: string;
  readonly fixedTest: string;
  /** True for the name of a test file of this language. */
  readonly isTest: (name: string) => boolean;
  readonly git: string;
  readonly gitStepMs: number;
  readonly python: string | null;
  readonly fixedBefore: FileIdentity;
  readonly files: Readonly<Record<string, string>>;
}

const readFolder = "tests/fixtures/agent-loop-multi-file";

/**
 * python3 3.10 or newer on this PATH, else null. A version manager's launcher costs half a second a start, so the
 * interpreter is asked where it lies itself and that file is used from then on.
 */
export async function findPython(path: string, cwd: string): Promise<string | null> {
  const python = Bun.which("python3", { PATH: path });
  if (python === null) return null;
  const asked = await runProgram({
    command: python,
    args: [
      "-I",
      "-c",
      "import sys, unittest; print(sys.executable); sys.exit(0 if sys.version_info >= (3, 10) else 3)",
    ],
    cwd,
    env: { PATH: path },
    timeoutMs: harnessLimits.versionProbeMs,
    maxOutputBytes: 65_536,
  });
  if (!asked.started || asked.code !== 0) return null;
  const itself = new TextDecoder().decode(asked.stdout).trim();
  return isAbsolute(itself) && existsSync(itself) ? itself : python;
}

/**
 * A TypeScript project begins here: without these two, `bun test` takes settings and packages of any folder above,
 * and the output folder may stand in a hostile one.
 */
const boundary = { "package.json": '{ "private": true, "type": "module" }\n', "tsconfig.json": "{}\n" } as const;

/** Makes a folder in which TypeScript runs by nobody's settings, neither of a folder above nor of a project. */
export function sealFolder(folder: string): void {
  writeFileSync(join(folder, "bunfig.toml"), "[test]\n");
  for (const [name, text] of Object.entries(boundary)) writeFileSync(join(folder, name), text);
}

/** Writes the project and commits it. The fixed file's hash is taken before git, server or agent run. */
export async function createFixture(run: Run, python: string | null): Promise<Fixture> {
  const folder = run.space.project;
  const git = Bun.which("git", { PATH: run.env["PATH"] ?? "" });
  if (git === null) throw new Failure<HarnessCode>("git_required");
  createPrivateFolder(folder);
  createPrivateFolder(run.space.registry);
  const names = python === null ? typescriptNames : pythonNames;
  const [tests, scaffold] = python === null ? [tsTests, tsScaffold] : [pythonTests, pythonScaffold];
  requireCanonicalTests(tests);
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, name), text, { mode: 0o600, flag: "wx" });
  };
  write(names.fixedTest, tests);
  write(names.implementation, scaffold);
  write(".gitignore", "__pycache__/\n");
  const mark = newCanary("fixture-readme", "file");
  run.canaries.push(mark);
  write("README.md", `# Disposable acceptance fixture: ${mark.text}\n`);
  if (python === null) for (const [name, text] of Object.entries(boundary)) write(name, text);
  write(`${readFolder}/alpha.txt`, alphaText);
  write(`${readFolder}/beta.txt`, betaText);
  const files = Object.fromEntries(
    ["alpha.txt", "beta.txt"].map((name) => [
      `${readFolder}/${name}`,
      readFileSync(join(folder, readFolder, name), "utf8"),
    ]),
  );
  const fixedBefore = fileIdentity(join(folder, names.fixedTest));
  const fixture: Fixture = { ...names, folder, git, gitStepMs: run.limits.gitStepMs, python, fixedBefore, files };
  await commitAll(fixture, run.env);
  run.book.report["fixture"] = {
    path: folder,
    language: fixture.language,
    fixed_test_source: "embedded:clamp",
    fixed_test_sha256: fixedBefore.sha256,
    read_fixture_sha256: Object.fromEntries(
      Object.keys(files).map((path) => [path, sha256FileHex(join(folder, path))]),
    ),
  };
  return fixture;
}

/** Output of a git question about the fixture. */
export async function askGit(
  fixture: Fixture,
  env: Record<string, string>,
  args: readonly string[],
): Promise<Uint8Array> {
  const result = await git(fixture, env, ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", ...args]);
  if (!result.started || result.code !== 0 || result.overflow)
    throw new Failure<HarnessCode>("fixture_git_read_failed");
  return result.stdout;
}

/** Refuses a fixed source that does not hold exactly the fixed tests. */
export function requireCanonicalTests(source: string): void {
  const tests = source.match(/^\s*(?:def test_\w+\(self\):|test\(")/gm) ?? [];
  if (tests.length !== harnessLimits.fixedTests) throw new Failure<HarnessCode>("canonical_clamp_tests_missing");
}

/** Hash, inode and change time: a file edited and put back shows it. */
export function fileIdentity(path: string): FileIdentity {
  const stat = statSync(path, { bigint: true });
  return { sha256: sha256FileHex(path), inode: String(stat.ino), changed_ns: String(stat.ctimeNs) };
}

/** Test files the project has beside the fixed one. */
export function additionalTests(fixture: Fixture): string[] {
  return readdirSync(fixture.folder)
    .filter((name) => fixture.isTest(name) && name !== fixture.fixedTest)
    .sort();
}

const pythonNames = {
  language: "python",
  implementation: "clamp.py",
  fixedTest: "test_clamp.py",
  isTest: (name: string) => /^test.*\.py$/.test(name),
} as const;

const typescriptNames = {
  language: "typescript",
  implementation: "clamp.ts",
  fixedTest: "clamp.test.ts",
  isTest: (name: string) => /\.test\.ts$/.test(name),
} as const;

async function commitAll(fixture: Fixture, env: Record<string, string>): Promise<void> {
  // No upkeep either: git does it in a process that may outlive the commit.
  const quiet = ["-c", "core.hooksPath=/dev/null", "-c", "maintenance.auto=false"];
  const who = ["-c", "user.name=Codex acceptance", "-c", "user.email=acceptance@example.invalid"];
  for (const args of [
    ["-c", "init.templateDir=", ...quiet, "init", "-q", "-b", "main"],
    [...quiet, "add", "."],
    [...who, ...quiet, "-c", "commit.gpgSign=false", "commit", "-qm", "Fixed independent acceptance fixture"],
  ]) {
    const result = await git(fixture, env, args);
    if (!result.started || result.code !== 0) throw new Failure<HarnessCode>("fixture_git_setup_failed");
  }
}

function git(fixture: Fixture, env: Record<string, string>, args: readonly string[]) {
  return runProgram({
    command: fixture.git,
    args: [...args],
    cwd: fixture.folder,
    env,
    timeoutMs: fixture.gitStepMs,
    maxOutputBytes: harnessLimits.gitOutputBytes,
  });
}
