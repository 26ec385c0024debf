// The bootstrap file on a disk that is really full, and under the kernel's own limit for a file's size.
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Writes a bootstrap file into the folder of its first argument; prints the fault and what is left there. */
const program = `
import { readdirSync, writeFileSync } from "node:fs";
import { codeOf } from "${projectRoot}src/base/failure.ts";
import { Bootstrap } from "${projectRoot}src/gateway/bootstrap.ts";
import { writeBootstrapFile } from "${projectRoot}src/gateway/bootstrap-file.ts";
const [folder, fill] = process.argv.slice(2);
if (fill === "fill") {
  const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=4096,mode=0700", "none", folder]);
  if (mounted.exitCode !== 0) throw new Error(mounted.stderr.toString());
  writeFileSync(folder + "/theirs", Buffer.alloc(4096));
}
let fault = "none";
try {
  writeBootstrapFile(folder, Bootstrap.draw("g"));
} catch (error) {
  fault = codeOf(error);
}
console.log(JSON.stringify({ fault, left: readdirSync(folder) }));
`;

async function attempt(launcher: readonly string[], fill: string): Promise<unknown> {
  await using dir = await tempFolder();
  await using folder = await tempFolder();
  writeFileSync(`${dir.path}/program.ts`, program);
  const done = await runProgram({
    command: launcher[0]!,
    args: [...launcher.slice(1), process.execPath, `${dir.path}/program.ts`, folder.path, fill],
    cwd: dir.path,
    env: { PATH: "/usr/bin:/bin", HOME: dir.path, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
    timeoutMs: 60_000,
    maxOutputBytes: 64 * 1024,
  });
  const text = new TextDecoder().decode(done.stdout);
  if (text === "") throw new Error(new TextDecoder().decode(done.stderr));
  return JSON.parse(text);
}

const mayMount = process.platform === "linux" && Bun.spawnSync(["/usr/bin/unshare", "-m", "true"]).exitCode === 0;

test.skipIf(!mayMount)("G080 a bootstrap on a full disk is a file error and leaves no file", async () => {
  expect(await attempt(["/usr/bin/unshare", "-m"], "fill")).toEqual({ fault: "credential_file", left: ["theirs"] });
});

test.skipIf(!existsSync("/usr/bin/prlimit"))(
  "G080 a bootstrap that the kernel cuts short is a file error and leaves no file",
  async () => {
    expect(await attempt(["/usr/bin/prlimit", "--fsize=32"], "")).toEqual({ fault: "credential_file", left: [] });
  },
);
