// Who sits where, found before anything of the run is started: versions, digests, order, and where Node is looked for.
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256Hex } from "../../src/base/bytes.ts";
import { failureOf, runAcceptance } from "../../src/harness/harness.ts";
import { describeSeats, resolveSeatPaths } from "../../src/harness/seats.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { acceptOptions } from "./stage-run.ts";

const environment = { PATH: "/usr/bin:/bin" };

/** A program that notes each start and answers `--version`. */
function versioned(folder: string, name: string, options: { log: string; says?: string; exit?: number }): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  const { log, says = `${name} 1.2.3`, exit = 0 } = options;
  writeFileSync(path, `#!/bin/sh\necho "${name} $*" >> ${log}\necho "${says}"\nexit ${exit}\n`);
  chmodSync(path, 0o700);
  return path;
}

/** An adapter's script with the package file two folders above it. */
function adapterIn(folder: string, version: string): string {
  const script = join(folder, "dist/index.js");
  mkdirSync(dirname(script), { recursive: true });
  writeFileSync(script, "// the adapter\n");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "@agentclientprotocol/codex-acp", version }));
  return script;
}

const digestOf = (path: string) => sha256Hex(readFileSync(path));
const codeOf = (call: () => unknown) => {
  try {
    call();
    return "none";
  } catch (error) {
    return failureOf(error);
  }
};

test("describeSeats() names real binaries, Codex and adapter with path, version and digest (H023 H026 H028)", async () => {
  await using dir = await tempFolder();
  const log = join(dir.path, "starts");
  const bin = join(dir.path, "bin");
  const server = versioned(bin, "webcodex-server", { log });
  const runner = versioned(bin, "webcodex-runner", { log, says: "runner 9" });
  const codex = versioned(bin, "codex", { log, says: "codex-cli 0.171.0" });
  const script = adapterIn(join(dir.path, "adapter"), "2.1.1");
  const options = acceptOptions(dir.path, {
    outputDir: dir.path,
    binDir: bin,
    codexPath: codex,
    adapterScript: script,
  });

  const described = await describeSeats(options, environment);

  expect(described.binaries).toEqual({
    "webcodex-server": { path: server, version: "webcodex-server 1.2.3", sha256: digestOf(server) },
    "webcodex-runner": { path: runner, version: "runner 9", sha256: digestOf(runner) },
  });
  expect(described.codex).toEqual({ path: codex, version: "codex-cli 0.171.0" });
  expect(described.adapter).toEqual({
    name: "@agentclientprotocol/codex-acp",
    version: "2.1.1",
    script,
    script_sha256: digestOf(script),
  });
  expect(readFileSync(log, "utf8").trim().split("\n")).toEqual([
    "webcodex-server --version",
    "webcodex-runner --version",
    "codex --version",
  ]);
});

test("a failure in the order binaries, Codex, adapter, fixtures starts nothing of what follows (H030)", async () => {
  for (const [broken, code, starts] of [
    ["server", "version_probe_failed", ["webcodex-server"]],
    ["runner", "version_probe_failed", ["webcodex-server", "webcodex-runner"]],
    ["codex", "version_probe_failed", ["webcodex-server", "webcodex-runner", "codex"]],
    ["adapter", "adapter_package_mismatch", ["webcodex-server", "webcodex-runner", "codex"]],
    ["git", "fixture_git_setup_failed", ["webcodex-server", "webcodex-runner", "codex", "git"]],
  ] as const) {
    await using dir = await tempFolder();
    const log = join(dir.path, "starts");
    const bin = join(dir.path, "bin");
    const exit = (name: string) => (name === broken ? 3 : 0);
    versioned(bin, "webcodex-server", { log, exit: exit("server") });
    versioned(bin, "webcodex-runner", { log, exit: exit("runner") });
    const codexPath = versioned(bin, "codex", { log, exit: exit("codex") });
    versioned(join(dir.path, "path"), "git", { log, exit: 9 });
    const adapterScript = adapterIn(join(dir.path, "adapter"), broken === "adapter" ? "2.1.0" : "2.1.1");
    const seats = { binDir: bin, codexPath, adapterScript, nodePath: "/bin/sh" };
    const options = acceptOptions(dir.path, { ...seats, environment: { PATH: `${dir.path}/path:/usr/bin:/bin` } });

    const report = await runAcceptance(options);

    expect([report["state"], report["failure"]], broken).toEqual(["failed", code]);
    const file = { server: "webcodex-server", runner: "webcodex-runner", codex: "codex" }[broken as string];
    expect(report["notes"] as string[], broken).toEqual(
      file === undefined ? expect.anything() : [`version_probe_failed: ${realpathSync(bin)}/${file}`],
    );
    const started = readFileSync(log, "utf8").trim().split("\n");
    expect(started.map((line) => line.split(" ")[0]) as string[], broken).toEqual([...starts]);
    expect(existsSync(join(dir.path, "out/project")), broken).toBe(broken === "git");
    for (const name of ["data", "private/runner.toml", "private/recovery.json"])
      expect(existsSync(join(dir.path, "out", name)), broken).toBe(false);
    expect(report).not.toHaveProperty("server_pid");
  }
});

test("Node is the one on PATH, else the bare name, which has to resolve (H012)", async () => {
  await using dir = await tempFolder();
  const adapterScript = adapterIn(join(dir.path, "adapter"), "2.1.1");
  const log = join(dir.path, "starts");
  const node = versioned(join(dir.path, "bin"), "node", { log });
  const resolved = (PATH: string | undefined) =>
    resolveSeatPaths(acceptOptions(dir.path, { adapterScript, environment: PATH === undefined ? {} : { PATH } }));

  expect(resolved(`${dir.path}/bin`).nodePath).toBe(node);
  // Nothing called node lies where the tests run, so the bare name resolves to nothing.
  expect(existsSync("node")).toBe(false);
  expect(codeOf(() => resolved(""))).toBe("seat_path_missing");
  expect(codeOf(() => resolved(undefined))).toBe("seat_path_missing");
  expect(resolveSeatPaths(acceptOptions(dir.path)).nodePath).toBeUndefined();
});

test("hashing a file of 400 MB takes no more memory than a few pieces of it (H029)", async () => {
  await using dir = await tempFolder();
  const large = join(dir.path, "large");
  writeFileSync(large, "");
  truncateSync(large, 400 * 1024 * 1024);
  const program = join(dir.path, "hash.ts");
  writeFileSync(
    program,
    `import { sha256FileHex } from ${JSON.stringify(`${projectRoot}src/base/bytes.ts`)};
     sha256FileHex(process.argv[3]);
     const before = process.resourceUsage().maxRSS;
     const digest = sha256FileHex(process.argv[2]);
     console.log(JSON.stringify({ digest, grownKiB: process.resourceUsage().maxRSS - before }));`,
  );
  const child = Bun.spawn([process.execPath, program, large, program], { env: {}, stdin: "ignore", stdout: "pipe" });
  const { digest, grownKiB } = await new Response(child.stdout).json();

  // What sha256sum says of 400 MiB of zeros.
  expect(digest).toBe("6ed5e85372e488807486f4446e2a3a501d319be812e969e3de426db798cc5704");
  expect(grownKiB).toBeLessThan(64 * 1024);
}, 300_000);
