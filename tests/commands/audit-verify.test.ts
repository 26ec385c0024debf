import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../src/base/bytes.ts";
import { selfCommand } from "../../src/base/self.ts";
import { AuditLog } from "../../src/relay/audit-log.ts";
import { tempFolder } from "../support/temp-folder.ts";

// Several whole processes a test, from source, on a machine that may do other things as well.
setDefaultTimeout(240_000);

async function verify(path: string, ...flags: string[]) {
  const { command, args } = selfCommand(["audit", "verify", path, ...flags]);
  const child = Bun.spawn([command, ...args], { env: { PATH: "/usr/bin:/bin" }, stdout: "pipe", stderr: "pipe" });
  const output = await new Response(child.stdout).text();
  return { status: await child.exited, output };
}

const exited = {
  event: "adapter_process_exited",
  exit_code: 0,
  stderr_drained: true,
  stderr_bytes: 0,
  diagnostics: {},
} as const;

test("audit verify ends with 0 for a whole file, with 1 for one that is edited or has lost its end, and says which", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  const log = new AuditLog(path);
  log.note({ event: "adapter_process_started", pid: 2, relay_pid: 3, after_bytes: 0 });
  log.note({ event: "prompt_dispatch", effective_config: {} });
  const open = await verify(path);
  expect(JSON.parse(open.output)).toMatchObject({ intact: true, complete: false, count: 2, sign: "end_missing" });
  expect(open.status).toBe(1);

  log.note(exited);
  log.close();
  const whole = await verify(path);
  expect(JSON.parse(whole.output)).toMatchObject({ intact: true, complete: true, count: 3, fault: null, sign: null });
  expect(whole.status).toBe(0);

  writeFileSync(path, readFileSync(path, "utf8").replace('"pid":2', '"pid":4'));
  const edited = await verify(path);
  const { fault, line, sign } = JSON.parse(edited.output) as Record<string, unknown>;
  expect([fault, line, sign]).toEqual(["audit_chain_broken", 1, "record_changed"]);
  expect(edited.status).toBe(1);
});

test("audit verify tells a file from one that was written anew by the digest it is given", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  const write = (file: string): void => {
    const log = new AuditLog(file);
    log.note({ event: "adapter_process_started", pid: 2, relay_pid: 3, after_bytes: 0 });
    log.note(exited);
    log.close();
  };
  write(path);
  write(`${path}.other`);
  const digest = sha256Hex(readFileSync(path));
  expect((await verify(path, "--digest", digest)).status).toBe(0);
  const other = await verify(`${path}.other`, "--digest", digest);
  expect(JSON.parse(other.output)).toMatchObject({ complete: true, digest_matches: false });
  expect(other.status).toBe(1);
  expect((await verify(path, "--digest", digest.toUpperCase())).status).toBe(64);
});

test("audit verify ends with 1 for a file that is not there, and 64 without one", async () => {
  await using dir = await tempFolder();
  expect((await verify(join(dir.path, "none"))).status).toBe(1);
  const { command, args } = selfCommand(["audit", "verify"]);
  const child = Bun.spawn([command, ...args], { env: { PATH: "/usr/bin:/bin" }, stdout: "pipe", stderr: "pipe" });
  expect(await child.exited).toBe(64);
});
