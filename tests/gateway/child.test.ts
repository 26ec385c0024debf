// A credential reaches one child's environment and nothing else: no argv, no parent, no second start, no complaint.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { inspect } from "node:util";
import { holdsWithin } from "../../src/base/clock.ts";
import { codeOf } from "../../src/base/failure.ts";
import { Secret } from "../../src/base/secret.ts";
import { selfCommand } from "../../src/base/self.ts";
import { runWithCredential } from "../../src/gateway/child.ts";
import { gatewayCodes } from "../../src/gateway/codes.ts";
import { askGateway } from "../../src/gateway/control.ts";
import { serveGateway } from "../../src/gateway/serve.ts";
import { tempFolder } from "../support/temp-folder.ts";

const bearer = `c.${"5a".repeat(32)}`;
const childOf = (command: readonly string[], cwd: string) => ({
  command,
  cwd,
  environment: { PATH: "/usr/bin:/bin" },
  variable: "TOK",
  bearer: Secret.from(bearer),
});

/** Writes what it was given, then stays until the file `go` is there. */
const program = `
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
const maps = (name) => readFileSync("/proc/" + name, "utf8");
const seen = { tok: process.env.TOK, argv: maps("self/cmdline"), parent: maps(process.ppid + "/environ"), pid: process.pid };
writeFileSync("seen.tmp", JSON.stringify(seen));
renameSync("seen.tmp", "seen.json");
while (!existsSync("go")) await Bun.sleep(5);
`;

test.skipIf(process.platform !== "linux")(
  "G036 G037 while the child runs no command line and no environment but its own shows the value",
  async () => {
    await using dir = await tempFolder();
    writeFileSync(`${dir.path}/child.ts`, program);
    const running = runWithCredential(childOf([process.execPath, `${dir.path}/child.ts`], dir.path));
    expect(await holdsWithin(() => existsSync(`${dir.path}/seen.json`), { withinMs: 30_000, everyMs: 5 })).toBe(true);
    const seen = JSON.parse(readFileSync(`${dir.path}/seen.json`, "utf8"));

    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
      expect(commandLineOf(pid)).not.toContain(bearer);
    expect(seen.tok).toBe(bearer);
    expect(seen.argv).not.toContain(bearer);
    expect(seen.parent).not.toContain(bearer);
    expect(JSON.stringify(process.env)).not.toContain(bearer);

    writeFileSync(`${dir.path}/go`, "");
    expect(await running).toBe(0);
    expect(JSON.stringify(process.env)).not.toContain(bearer);
  },
);

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it ended meanwhile
  }
}

test("G034 G035 the value leaves the command at the start, also at a failed one, and is never printed", async () => {
  await using dir = await tempFolder();
  for (const [command, first] of [
    ["/bin/true", 0],
    [`${dir.path}/missing`, "child_not_started"],
  ] as const) {
    const child = childOf([command], dir.path);
    for (const shown of [inspect(child), Bun.inspect(child), JSON.stringify(child)])
      expect(shown).not.toContain(bearer);

    expect(await runWithCredential(child).catch(codeOf)).toBe(first);

    expect(await runWithCredential(child).catch(codeOf)).toBe("secret_wiped");
    expect(JSON.stringify(child.environment)).not.toContain(bearer);
  }
});

test("G038 neither a program that complains nor one that is missing carries the bearer to stderr", async () => {
  await using dir = await tempFolder();
  const folder = `${dir.path}/run`;
  const ready = Promise.withResolvers<unknown>();
  const stop = Promise.withResolvers<void>();
  const served = serveGateway({
    folder,
    upstream: () => Promise.reject(new Error("none")),
    port: 0,
    forwardedPorts: [],
    allowedMethods: [],
    onReady: ready.resolve,
    stopAsked: stop.promise,
  });
  await ready.promise;
  const exec = async (...command: string[]) => {
    const self = selfCommand(["gateway", "exec", "--runtime-dir", folder, "--client-id", "c", "--env", "TOK", "--"]);
    const child = Bun.spawn([self.command, ...self.args, ...command], {
      env: { PATH: "/usr/bin:/bin", HOME: dir.path },
      stdout: "ignore",
      stderr: "pipe",
    });
    return [await new Response(child.stderr).text(), await child.exited] as const;
  };

  const [complaint, status] = await exec("/bin/ls", `${dir.path}/not-there`);
  const [missing, fault] = await exec(`${dir.path}/no-program`);

  expect(complaint).toContain("not-there");
  expect(status).toBeGreaterThan(0);
  const sentence = `${gatewayCodes.child_not_started} [child_not_started]`;
  expect([missing.trim(), fault]).toEqual([`proctor gateway exec: ${sentence}`, 125]);
  for (const text of [complaint, missing]) expect(text).not.toMatch(/[0-9a-f]{64}/);
  expect(await askGateway(folder, { op: "list" })).toEqual({ credentials: [] });
  stop.resolve();
  await served;
});
