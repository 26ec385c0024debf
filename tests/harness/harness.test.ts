import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { harnessCodes } from "../../src/harness/codes.ts";
import { checkOptions, failureOf } from "../../src/harness/harness.ts";
import { harnessLimits, runLimits } from "../../src/harness/limits.ts";
import { ReportBook } from "../../src/harness/report-book.ts";
import type { AcceptOptions } from "../../src/harness/run.ts";
import { adapterPackage, programVersion } from "../../src/harness/seats.ts";
import { createOutputFolder } from "../../src/harness/workspace.ts";
import { tempFolder } from "../support/temp-folder.ts";

function options(more: Partial<AcceptOptions> = {}): AcceptOptions {
  return {
    outputDir: "/nowhere/out",
    account: false,
    fixture: "auto",
    timeoutS: 300,
    hostJobId: null,
    misbehave: {},
    program: { version: "0", commit: "source" },
    environment: { PATH: "/usr/bin:/bin" },
    stateFolder: "/nowhere/state",
    ...more,
  };
}

function codeOfCall(call: () => unknown): string {
  try {
    call();
    return "none";
  } catch (error) {
    return failureOf(error);
  }
}

test("checkOptions() refuses another platform first, then the time-out, then paths (H005 H007 H009 H014)", () => {
  const bad = options({ timeoutS: 29, codexPath: "/nowhere/codex" });
  expect(codeOfCall(() => checkOptions(bad, "win32"))).toBe("posix_test_harness_required");
  expect(codeOfCall(() => checkOptions(bad, "linux"))).toBe("invalid_timeout");
  expect(codeOfCall(() => checkOptions({ ...bad, timeoutS: 30 }, "linux"))).toBe("seat_path_missing");
  for (const [timeoutS, code] of [
    [30, "none"],
    [900, "none"],
    [901, "invalid_timeout"],
    [30.5, "invalid_timeout"],
    [Number.NaN, "invalid_timeout"],
  ] as const)
    expect(codeOfCall(() => checkOptions(options({ timeoutS }), "linux"))).toBe(code);
});

test("checkOptions() takes only a regular file as adapter script, and account only with both seats (H010)", async () => {
  await using dir = await tempFolder();
  expect(codeOfCall(() => checkOptions(options({ adapterScript: dir.path, nodePath: "/bin/sh" }), "linux"))).toBe(
    "adapter_script_required",
  );
  expect(codeOfCall(() => checkOptions(options({ account: true }), "linux"))).toBe("account_seats_required");
});

test("runLimits() has the seed's waits unless the inner door shortens one (H058 H146 H184)", () => {
  expect(runLimits(300)).toMatchObject({
    httpTimeoutMs: 45_000,
    stopTermMs: 10_000,
    stopKillMs: 2_000,
    recoveryExtraMs: 30_000,
    consumerDeadlineMs: 300_000,
  });
  expect(runLimits(300, { consumerDeadlineMs: 2_000 })).toMatchObject({ consumerDeadlineMs: 2_000 });
  expect(harnessLimits.defaultTimeoutS).toBe(300);
});

test("createOutputFolder() refuses whatever is there and makes no parents (H001 H003)", async () => {
  await using dir = await tempFolder();
  const at = (name: string) => join(dir.path, name);
  mkdirSync(at("folder"));
  writeFileSync(at("file"), "kept");
  symlinkSync(at("file"), at("link"));

  for (const name of ["folder", "file", "link"])
    expect(codeOfCall(() => createOutputFolder(at(name)))).toBe("output_folder_exists");
  expect(codeOfCall(() => createOutputFolder(at("missing/out")))).toBe("output_folder_parent_missing");
  expect(readFileSync(at("file"), "utf8")).toBe("kept");
  expect(existsSync(at("missing"))).toBe(false);
  expect(statSync(createOutputFolder(at("fresh"))).mode & 0o777).toBe(0o700);
});

test("ReportBook opens with the seed's fields and moves phase and time together (H031 H032 H033 H036 H037 H038 H039 H043)", async () => {
  await using dir = await tempFolder();
  const read = () => JSON.parse(readFileSync(join(dir.path, "report.json"), "utf8"));
  const book = new ReportBook({ folder: dir.path, hostJobId: "jöb", sourceHead: "abc", scriptSha256: "0".repeat(64) });

  const first = read();
  expect(first).toMatchObject({
    format: "webcodex-codex-bidirectional-v1",
    state: "running",
    phase: "preflight",
    model: "gpt-5.6-luna",
    effort: "medium",
    host_job_id: "jöb",
    process_id: process.pid,
    output_dir: dir.path,
    consumer: { passed: false },
    managed: { passed: false },
    recovery: { passed: false },
    cleanup: { process_cleanup_finished: false, execution_terminal_observed: false },
  });
  book.checkpoint("services_ready");
  expect(read().phase).toBe("services_ready");
  expect(read().updated_at_unix).toBeGreaterThanOrEqual(first.updated_at_unix);
  const text = readFileSync(join(dir.path, "report.json"), "utf8");
  expect(text.startsWith('{\n  "format"')).toBe(true);
  expect(text).toContain("jöb");
  expect(text.endsWith("}\n")).toBe(true);
});

test("programVersion() takes one short line with status 0 only (H024 H025)", async () => {
  await using dir = await tempFolder();
  const program = (name: string, body: string) => {
    const path = join(dir.path, name);
    writeFileSync(path, `#!/bin/sh\n${body}\n`);
    chmodSync(path, 0o700);
    return path;
  };
  const ask = (path: string) => programVersion(path, { PATH: "/usr/bin:/bin" }, dir.path).catch((error) => error.code);

  expect(await ask(program("fine", "echo tool 1.2"))).toBe("tool 1.2");
  expect(await ask(program("three", "exit 3"))).toBe("version_probe_failed");
  expect(await ask(program("two-lines", "echo a; echo b"))).toBe("unexpected_version_output");
  expect(await ask(program("at-limit", `printf '%s' ${"v".repeat(512)}`))).toBe("v".repeat(512));
  expect(await ask(program("over-limit", `printf '%s' ${"v".repeat(513)}`))).toBe("unexpected_version_output");
});

test("adapterPackage() wants the pinned name and version two folders above the script (H016 H027)", async () => {
  await using dir = await tempFolder();
  const script = join(dir.path, "dist/index.js");
  const write = (value: unknown) => writeFileSync(join(dir.path, "package.json"), JSON.stringify(value));

  expect(codeOfCall(() => adapterPackage(script))).toBe("adapter_package_unreadable");
  write({ name: "@agentclientprotocol/codex-acp", version: "2.1.0" });
  expect(codeOfCall(() => adapterPackage(script))).toBe("adapter_package_mismatch");
  write({ name: "codex-acp", version: "2.1.1" });
  expect(codeOfCall(() => adapterPackage(script))).toBe("adapter_package_mismatch");
  write({ name: "@agentclientprotocol/codex-acp", version: "2.1.1" });
  expect(adapterPackage(script)).toEqual({ name: "@agentclientprotocol/codex-acp", version: "2.1.1" });
});

test("failureOf() shows a code of ours, else the kind of error and never its message (H021 H022)", () => {
  expect(failureOf(new TypeError("token wc_pat_secret"))).toBe("TypeError");
  expect(failureOf("wc_pat_secret")).toBe("internal");
  for (const code of Object.keys(harnessCodes)) expect(code).toMatch(/^[a-z0-9_]{3,60}$/);
});
