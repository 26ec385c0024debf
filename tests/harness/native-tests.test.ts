// Our own test runs: how the interpreter is called, what bounds it, and what is kept of what it says.
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../src/base/bytes.ts";
import { readProcess, signalExactly } from "../../src/base/census.ts";
import { createFixture } from "../../src/harness/fixture.ts";
import { failureOf } from "../../src/harness/harness.ts";
import { harnessLimits, runLimits } from "../../src/harness/limits.ts";
import { nativeTests } from "../../src/harness/native-tests.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { stageRun } from "./stage-run.ts";

/** A test run with a shell script in the interpreter's place. */
async function testsBy(script: string, which: "fixed" | "all" = "fixed", limits = {}) {
  await using dir = await tempFolder();
  await using stage = stageRun(dir.path, { doors: { limits } });
  const python = join(dir.path, "python3");
  writeFileSync(python, `#!/bin/sh\n${script.replaceAll("$HERE", dir.path)}\n`);
  chmodSync(python, 0o700);
  const fixture = await createFixture(stage.run, python);
  const result = await nativeTests(stage.run, fixture, which).catch(failureOf);
  const noted = Bun.file(join(dir.path, "noted"));
  return { result, noted: (await noted.exists()) ? await noted.text() : "", project: fixture.folder };
}

test("a test run is an isolated interpreter that discovers by pattern in the fixture, with an empty input (H150)", async () => {
  const script = 'printf "%s\\n" "$*" "$(pwd)" "[$(cat)]" >"$HERE/noted"; echo "Ran 7 tests" >&2';
  for (const [which, pattern] of [
    ["fixed", "test_clamp.py"],
    ["all", "test*.py"],
  ] as const) {
    const { noted, project } = await testsBy(script, which);
    expect(noted.split("\n")).toEqual([`-I -B -m unittest discover -s . -p ${pattern}`, project, "[]", ""]);
  }
  expect(runLimits(300).testRunMs).toBe(30_000);
});

test("a test run that hangs is ended at its time, with everything it started (H150)", async () => {
  const script = 'sleep 600 & echo $! >"$HERE/noted"; exec sleep 600';
  const { result, noted } = await testsBy(script, "fixed", { testRunMs: 1_000 });

  expect(result).toBe("native_test_timeout");
  const stat = await Bun.file(`/proc/${noted.trim()}/stat`).exists();
  expect(stat && !/\) Z /.test(readFileSync(`/proc/${noted.trim()}/stat`, "latin1"))).toBe(false);
});

test("a test run is in the live file before anybody waits for it, so a killed harness leaves none behind", async () => {
  await using dir = await tempFolder();
  await using stage = stageRun(dir.path, { doors: { limits: { testRunMs: 60_000 } } });
  const python = join(dir.path, "python3");
  writeFileSync(python, "#!/bin/sh\nexec sleep 600\n");
  chmodSync(python, 0o700);
  const fixture = await createFixture(stage.run, python);
  const live = join(dir.path, "state/proctor/live");

  const running = nativeTests(stage.run, fixture, "fixed").catch(failureOf);

  const [name = ""] = readdirSync(live);
  const id = JSON.parse(readFileSync(join(live, name), "utf8")).processes.at(-1);
  expect(readProcess(id.pid)?.startTicks).toBe(id.start_ticks);
  expect(signalExactly({ pid: id.pid, startTicks: id.start_ticks }, "SIGKILL")).toBe("signalled");
  expect(await running).toBe("native_tests_missing_count");
});

test("both outputs of a test run together stay below 1 MiB (H151)", async () => {
  const limit = harnessLimits.testOutputBytes;
  expect(limit).toBe(1024 * 1024);
  const count = "Ran 7 tests\n";
  const saying = (bytes: number) =>
    `head -c ${bytes - count.length - 1000} /dev/zero; head -c 1000 /dev/zero >&2; echo "Ran 7 tests" >&2`;

  expect((await testsBy(saying(limit - 1))).result).toMatchObject({ tests_run: 7, exit_code: 0 });
  expect((await testsBy(saying(limit))).result).toBe("native_test_output_limit");
  expect((await testsBy(saying(3 * limit))).result).toBe("native_test_output_limit");
});

test("a test run that does not say how many tests ran counts for nothing (H152)", async () => {
  expect((await testsBy("exit 0")).result).toBe("native_tests_missing_count");
  expect((await testsBy("echo Ran 7 tests")).result).toBe("native_tests_missing_count"); // unittest says it on stderr
  expect((await testsBy("echo Ran some tests >&2")).result).toBe("native_tests_missing_count");
});

test("a test result is status, count and digest, and no text (H153)", async () => {
  const { result } = await testsBy("echo private words; echo 'Ran 3 tests in 0.1s' >&2; exit 1");

  expect(result).toEqual({
    exit_code: 1,
    tests_run: 3,
    output_sha256: sha256Hex("private words\nRan 3 tests in 0.1s\n"),
  });
});
