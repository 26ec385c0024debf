// The launchers start this program, keep the caller's arguments, and never replace what is there.
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";
import { writeLaunchers } from "../../src/commands/shims.ts";
import { tempFolder } from "../support/temp-folder.ts";

function run(command: string, options: { readonly args: string[]; readonly cwd: string }) {
  const env = { HOME: options.cwd, PATH: "/usr/bin:/bin" };
  return runProgram({ command, ...options, env, timeoutMs: 60_000, maxOutputBytes: 65_536 });
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test("`proctor shims DIR` writes private launchers that answer --version as server and runner", async () => {
  await using dir = await tempFolder();
  const { command, args } = selfCommand(["shims", "it's a $(touch made) folder", "--json"]);

  const made = await run(command, { args, cwd: dir.path });
  const folder = `${dir.path}/it's a $(touch made) folder`;
  const server = await run(`${folder}/webcodex-server`, { args: ["--version"], cwd: dir.path });
  const runner = await run(`${folder}/webcodex-runner`, { args: ["--version"], cwd: dir.path });
  const unknown = await run(`${folder}/webcodex-server`, { args: ["--no such flag"], cwd: dir.path });

  expect(JSON.parse(text(made.stdout))).toEqual({
    shims: "written",
    files: [`${folder}/webcodex-server`, `${folder}/webcodex-runner`],
  });
  expect(text(server.stdout)).toMatch(/^proctor-server \S+\n$/);
  expect(text(runner.stdout)).toMatch(/^proctor-runner \S+\n$/);
  expect(unknown.code).toBe(64);
  expect(existsSync(`${dir.path}/made`)).toBe(false);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(`${folder}/webcodex-server`).mode & 0o777).toBe(0o700);
});

test("writeLaunchers() refuses an existing launcher, a link, and a folder open to others, and leaves them as they were", async () => {
  await using dir = await tempFolder();
  const code = (folder: string) => {
    try {
      writeLaunchers(`${dir.path}/${folder}`);
      return "written";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  for (const name of ["taken", "linked", "open"]) mkdirSync(`${dir.path}/${name}`, { mode: 0o700 });
  await Bun.write(`${dir.path}/taken/webcodex-runner`, "mine");
  symlinkSync("/nowhere", `${dir.path}/linked/webcodex-server`);
  chmodSync(`${dir.path}/open`, 0o755);

  const codes = ["taken", "linked", "open", "missing/below"].map(code);

  expect(codes).toEqual(["shims_exist", "shims_exist", "shims_unwritable", "shims_unwritable"]);
  expect(readFileSync(`${dir.path}/taken/webcodex-runner`, "utf8")).toBe("mine");
  expect(existsSync(`${dir.path}/taken/webcodex-server`)).toBe(false);
});
