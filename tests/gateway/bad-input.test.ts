// What a wrong command line and a wrong folder get from `proctor gateway`: one sentence that says what to do, the right
// exit number, and nothing changed.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";
import { gatewayCodes } from "../../src/gateway/codes.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { serve } from "./serve-fixture.ts";

const fakeServer = [process.execPath, `${projectRoot}fixtures/programs/fake-app-server.ts`];

async function gateway(folder: string, ...words: string[]): Promise<[number | null, string, string]> {
  const env = { PATH: "/usr/bin:/bin", HOME: folder };
  const self = selfCommand(["gateway", ...words]);
  const done = await runProgram({ ...self, cwd: folder, env, timeoutMs: 60_000, maxOutputBytes: 65_536 });
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  return [done.code, text(done.stdout), text(done.stderr)];
}

const told = (word: string, code: keyof typeof gatewayCodes) =>
  `proctor gateway ${word}: ${gatewayCodes[code]} [${code}]`;
const usage = (word: string, sentence: string) =>
  `proctor gateway ${word}: ${sentence} Try \`proctor gateway ${word} --help\`.`;

test("a folder that is not there is called so by every word, and by serve when it could not make it", async () => {
  await using dir = await tempFolder();
  const gone = ["--runtime-dir", `${dir.path}/gone`];

  expect(await gateway(dir.path, "list", ...gone)).toEqual([1, "", told("list", "runtime_folder_missing")]);
  expect(await gateway(dir.path, "exec", ...gone, "--client-id", "c", "--env", "TOK", "--", "true")).toEqual([
    125,
    "",
    told("exec", "runtime_folder_missing"),
  ]);
  const deep = ["serve", "--runtime-dir", `${dir.path}/gone/run`, "--", ...fakeServer];
  expect(await gateway(dir.path, ...deep)).toEqual([1, "", told("serve", "runtime_folder_missing")]);
  expect(existsSync(`${dir.path}/gone`)).toBe(false);
}, 180_000);

test("serve refuses a wrong port, a wrong upstream and a program nobody can start before it is ready or makes anything", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/text`, "no program", { mode: 0o600 });
  const run = async (...words: string[]) => await gateway(dir.path, "serve", "--runtime-dir", "run", ...words);

  const range = "takes a number from 0 to 65535.";
  const refused: Array<[string[], string]> = [
    [["--port", "65536", "--", ...fakeServer], `--port ${range}`],
    [["--forwarded-port", "070", "--", ...fakeServer], `--forwarded-port ${range}`],
    [["--upstream", "tcp:1"], "--upstream takes stdio, unix:PATH or ws://127.0.0.1:PORT."],
    [[], "Give the app-server's command after `--`, or --upstream unix:PATH or ws://127.0.0.1:PORT, not both."],
  ];
  for (const [words, sentence] of refused) expect(await run(...words)).toEqual([64, "", usage("serve", sentence)]);
  for (const program of ["no-such-program-here", `${dir.path}/text`, dir.path])
    expect(await run("--", program)).toEqual([1, "", told("serve", "upstream_program_unusable")]);
  expect(existsSync(`${dir.path}/run`)).toBe(false);
}, 240_000);

test("a word that lacks an option names it and exits 64, and a file that exists costs no client its credential", async () => {
  await using dir = await tempFolder();
  await using served = await serve({ folder: dir.path, upstream: fakeServer });
  await served.operator("issue", "--client-id", "c", "--output", `${dir.path}/bearer`);
  const before = await served.operator("list");
  const bearer = readFileSync(`${dir.path}/bearer`, "utf8");

  const refused: Array<[string, string[], string]> = [
    ["rotate", ["--client-id", "c"], "--client-id needs --output F, the new file for the bearer."],
    ["rotate", [], "Give --client-id X with --output F, or --bootstrap."],
    ["rotate", ["--bootstrap", "--output", "f"], "--bootstrap goes with neither --client-id nor --output."],
    ["issue", ["--client-id", "d"], "Give one of --output F and --socket PATH."],
    ["revoke", [], "Give one of --client-id X and --credential ID."],
  ];
  for (const [word, words, sentence] of refused)
    expect(await served.operator(word, ...words)).toEqual({ code: 64, out: "", err: `${usage(word, sentence)}\n` });
  for (const word of ["rotate", "issue"]) {
    const taken = await served.operator(word, "--client-id", "c", "--output", `${dir.path}/bearer`);
    expect([taken.code, taken.err]).toEqual([1, expect.stringContaining("[private_file_exists]")]);
    for (const folder of ["none", "bearer"]) {
      const nowhere = await served.operator(word, "--client-id", "c", "--output", `${dir.path}/${folder}/new`);
      expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining("[private_file_unwritable]")]);
    }
  }
  const steering = await served.operator("exec", "--client-id", "c", "--env", "LD_PRELOAD", "--", "true");

  expect([steering.code, steering.err]).toEqual([125, `${told("exec", "environment_name_invalid")}\n`]);
  expect(await served.operator("list")).toEqual(before);
  expect(readFileSync(`${dir.path}/bearer`, "utf8")).toBe(bearer);
  const stray = await gateway(dir.path, "probe");
  expect(stray).toEqual([
    64,
    "",
    usage("probe", "Give --runtime-dir D, or an endpoint: ws://127.0.0.1:PORT/ or unix:PATH."),
  ]);
}, 300_000);
