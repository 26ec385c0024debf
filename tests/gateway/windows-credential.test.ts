// The child-only credential on Windows: the system's own account of a live process (CIM) shows its command line, on which
// the variable's name may stand and its value may not. Runs on Windows only; elsewhere it is skipped, visibly.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { Secret } from "../../src/base/secret.ts";
import { runWithCredential } from "../../src/gateway/child.ts";
import { tempFolder } from "../support/temp-folder.ts";

const bearer = `c.${"5a".repeat(32)}`;

/** Is told its variable's name as a word, writes down what it was given, stays until the file `go` is there. */
const program = `
import { existsSync, renameSync, writeFileSync } from "node:fs";
writeFileSync("seen.tmp", JSON.stringify({ value: process.env[process.argv[2]], pid: process.pid }));
renameSync("seen.tmp", "seen.json");
while (!existsSync("go")) await Bun.sleep(20);
`;

test.skipIf(process.platform !== "win32")(
  "G039 the live command line of the child shows the variable's name and not its value, by CIM",
  async () => {
    await using dir = await tempFolder();
    writeFileSync(`${dir.path}/child.ts`, program);
    const running = runWithCredential({
      command: [process.execPath, `${dir.path}/child.ts`, "TOK"],
      cwd: dir.path,
      environment: { PATH: process.env.PATH ?? "" },
      variable: "TOK",
      bearer: Secret.from(bearer),
    });
    expect(await holdsWithin(() => existsSync(`${dir.path}/seen.json`), { withinMs: 60_000 })).toBe(true);
    const seen = JSON.parse(readFileSync(`${dir.path}/seen.json`, "utf8"));

    const query = `(Get-CimInstance Win32_Process -Filter "ProcessId=${seen.pid}").CommandLine`;
    const asked = Bun.spawnSync(["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", query]);
    writeFileSync(`${dir.path}/go`, "");

    expect(seen.value).toBe(bearer);
    expect(asked.stdout.toString()).toContain("TOK");
    expect(asked.stdout.toString()).not.toContain(bearer);
    expect(JSON.stringify(process.env)).not.toContain(bearer);
    expect(await running).toBe(0);
  },
);
