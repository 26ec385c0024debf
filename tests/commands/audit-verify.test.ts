import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfCommand } from "../../src/base/self.ts";
import { AuditLog } from "../../src/relay/audit-log.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function verify(path: string) {
  const { command, args } = selfCommand(["audit", "verify", path]);
  const child = Bun.spawn([command, ...args], { env: { PATH: "/usr/bin:/bin" }, stdout: "pipe", stderr: "pipe" });
  const output = await new Response(child.stdout).text();
  return { status: await child.exited, output };
}

test("audit verify ends with 0 for an intact file and 1 for an edited one", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  const log = new AuditLog(path);
  log.note({ event: "adapter_process_started", pid: 2, relay_pid: 3, after_bytes: 0 });
  log.note({ event: "prompt_dispatch", effective_config: {} });
  log.close();

  const intact = await verify(path);
  expect(JSON.parse(intact.output)).toMatchObject({ intact: true, complete: false, count: 2, fault: null });
  expect(intact.status).toBe(0);

  writeFileSync(path, readFileSync(path, "utf8").replace('"pid":2', '"pid":4'));
  const edited = await verify(path);
  expect(JSON.parse(edited.output)).toMatchObject({ intact: false, fault: "audit_chain_broken", line: 1 });
  expect(edited.status).toBe(1);
});

test("audit verify ends with 1 for a file that is not there, and 64 without one", async () => {
  await using dir = await tempFolder();
  expect((await verify(join(dir.path, "none"))).status).toBe(1);
  const { command, args } = selfCommand(["audit", "verify"]);
  const child = Bun.spawn([command, ...args], { env: { PATH: "/usr/bin:/bin" }, stdout: "pipe", stderr: "pipe" });
  expect(await child.exited).toBe(64);
});
