// Our own test runs of the fixture: an isolated interpreter, or this executable as `bun test` on a copy of the sources.
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { concatBytes, sha256Hex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { runProgram } from "../base/run-program.ts";
import { executablePath } from "../base/self.ts";
import type { TestResult } from "../contract/report.ts";
import type { JudgeCode } from "../judge/codes.ts";
import type { HarnessCode } from "./codes.ts";
import { type Fixture, sealFolder } from "./fixture.ts";
import { harnessLimits } from "./limits.ts";
import type { Run } from "./run.ts";

/** Runs the fixed tests alone, or all of them; keeps status, count and a digest of the output, no text. */
export async function nativeTests(run: Run, fixture: Fixture, which: "fixed" | "all"): Promise<TestResult> {
  return fixture.python === null
    ? await typescriptTests(run, fixture, which)
    : await pythonTests(run, fixture, { python: fixture.python, which });
}

async function pythonTests(
  run: Run,
  fixture: Fixture,
  { python, which }: { python: string; which: "fixed" | "all" },
): Promise<TestResult> {
  const pattern = which === "fixed" ? fixture.fixedTest : "test*.py";
  return await result(run, {
    command: python,
    // No bytecode is written: the project holds only what git or the agent put there.
    args: ["-I", "-B", "-m", "unittest", "discover", "-s", ".", "-p", pattern],
    cwd: fixture.folder,
    env: run.env,
    count: /Ran (\d+) tests?/,
  });
}

async function typescriptTests(run: Run, fixture: Fixture, which: "fixed" | "all"): Promise<TestResult> {
  const copy = mkdtempSync(join(run.space.temp, "tests-"));
  try {
    for (const name of readdirSync(fixture.folder).filter((file) => file.endsWith(".ts"))) {
      if (which === "fixed" && fixture.isTest(name) && name !== fixture.fixedTest) continue;
      copyFileSync(join(fixture.folder, name), join(copy, name));
    }
    sealFolder(copy);
    const home = mkdtempSync(join(run.space.temp, "home-"));
    return await result(run, {
      command: executablePath(),
      args: ["test"],
      cwd: copy,
      env: { BUN_BE_BUN: "1", PATH: run.env["PATH"] ?? "", HOME: home, TMPDIR: run.space.temp },
      count: /Ran (\d+) tests?/,
    });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

interface TestCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly count: RegExp;
}

async function result(run: Run, test: TestCommand): Promise<TestResult> {
  const { command, args, cwd, env } = test;
  const limit = harnessLimits.testOutputBytes;
  const ended = await runProgram({
    command,
    args: [...args],
    cwd,
    env,
    timeoutMs: run.limits.testRunMs,
    maxOutputBytes: limit,
    note: (id) => run.census.note(id, "tests"),
  });
  if (!ended.started) throw new Failure<HarnessCode>("harness_process_start_failed");
  const bytes = concatBytes([ended.stdout, ended.stderr]);
  if (ended.overflow || bytes.length >= limit) throw new Failure<JudgeCode>("native_test_output_limit");
  if (ended.timedOut) throw new Failure<HarnessCode>("native_test_timeout");
  const found = test.count.exec(new TextDecoder().decode(ended.stderr))?.[1];
  if (found === undefined) throw new Failure<JudgeCode>("native_tests_missing_count");
  return { exit_code: ended.code ?? 128, tests_run: Number(found), output_sha256: sha256Hex(bytes) };
}
