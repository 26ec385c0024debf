// What a user types, on the compiled executable: hostile folders, closed pipes, odd terminals, wrong words.
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { proctorBinary, projectRoot } from "../support/binary.ts";
import { runBinary as run } from "../support/run-binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("version says one line of JSON facts without a path of the building machine", async () => {
  const { code, stdout, stderr } = await run(["version", "--json"]);

  const facts = JSON.parse(stdout);
  expect(Object.keys(facts)).toEqual(["version", "commit", "bun", "target"]);
  expect(facts.bun).toBe("1.4.5");
  expect(stdout).not.toContain(projectRoot);
  expect(stderr).toBe("");
  expect(code).toBe(0);
});

test("a hostile folder changes nothing: .env, bunfig preload, package.json, node_modules", async () => {
  await using dir = await tempFolder();
  const marker = `${dir.path}/loaded`;
  const evil = `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "x");`;
  writeFileSync(`${dir.path}/evil.js`, evil);
  writeFileSync(`${dir.path}/.env`, "PROCTOR_PLANTED=1\nPATH=/planted\n");
  writeFileSync(`${dir.path}/bunfig.toml`, 'preload = ["./evil.js"]\n[test]\npreload = ["./evil.js"]\n');
  writeFileSync(`${dir.path}/package.json`, '{"type":"commonjs","imports":{"#x":"./evil.js"}}');
  writeFileSync(
    `${dir.path}/tsconfig.json`,
    '{"compilerOptions":{"paths":{"citty":["./evil.js"],"zod":["./evil.js"]}}}',
  );
  mkdirSync(`${dir.path}/node_modules/citty`, { recursive: true });
  writeFileSync(`${dir.path}/node_modules/citty/index.js`, evil);

  const { code, stdout } = await run(["doctor", "--json"], { cwd: dir.path, env: { HOME: dir.path } });

  expect(stdout).not.toContain("planted");
  expect(await Bun.file(marker).exists()).toBe(false);
  expect([0, 1]).toContain(code);
});

const wrong: Array<readonly [string[], string]> = [
  [[], "Usage: proctor COMMAND"],
  [["no-such-command"], "No such command."],
  [["version", "--unknown"], "Unknown flag --unknown."],
  [["version", "extra"], "Unexpected word extra."],
  [["version", "--json", "--json"], "--json may be given once only."],
  [["completions"], "SHELL is missing."],
  [["completions", "tcsh"], "SHELL takes bash, zsh, fish."],
  [["self"], "Name one of its commands."],
];
for (const [words, sentence] of wrong) {
  test(`\`proctor ${words.join(" ")}\` is a wrong command line: 64, one sentence, nothing on stdout`, async () => {
    const { code, stdout, stderr } = await run(words);

    expect(stderr).toContain(sentence);
    expect(stdout).toBe("");
    expect(code).toBe(64);
  });
}

test("self verify knows its own checksum, refuses a list without it, and a list in another form", async () => {
  await using dir = await tempFolder();
  const sum = new Bun.CryptoHasher("sha256").update(readFileSync(proctorBinary)).digest("hex");
  writeFileSync(`${dir.path}/good`, `${"0".repeat(64)}  other\n${sum}  proctor-linux-x64\n`);
  writeFileSync(`${dir.path}/other`, `${"0".repeat(64)}  other\n`);
  writeFileSync(`${dir.path}/odd`, "not a list\n");

  expect(JSON.parse((await run(["self", "verify", `${dir.path}/good`])).stdout).name).toBe("proctor-linux-x64");
  const other = await run(["self", "verify", `${dir.path}/other`]);
  expect(other.stderr).toContain("[self_not_listed]");
  expect(other.code).toBe(1);
  expect((await run(["self", "verify", `${dir.path}/odd`])).stderr).toContain("[self_sums_invalid]");
});

test("BUN_BE_BUN and BUN_OPTIONS are reported by doctor, which says how to start without them", async () => {
  await using dir = await tempFolder();
  const { stdout } = await run(["doctor", "--json"], { env: { BUN_OPTIONS: "--smol", HOME: dir.path } });

  const finding = JSON.parse(stdout).findings.find((one: { check: string }) => one.check === "environment");
  expect(finding.outcome).toBe("problem");
  expect(finding.next).toContain("env -u BUN_OPTIONS");
});

test("doctor tells no path, user or value of the host", async () => {
  await using dir = await tempFolder();
  const { stdout } = await run(["doctor", "--json"], { env: { HOME: dir.path, SECRET_CANARY: "canary-4711" } });

  expect(stdout).not.toContain(dir.path);
  expect(stdout).not.toContain("canary-4711");
  for (const finding of JSON.parse(stdout).findings) {
    if (finding.outcome !== "ok") expect(finding.next, finding.check).toBeString();
  }
});

test("the executable is no larger than a browser tab and executable by its owner", () => {
  const { mode, size } = statSync(proctorBinary);

  expect(mode & 0o100).toBe(0o100);
  expect(size).toBeLessThan(160 * 1024 * 1024);
});
