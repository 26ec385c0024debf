import { expect, test } from "bun:test";
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../src/base/failure.ts";
import { readAudit } from "../../src/contract/audit.ts";
import { signOf } from "../../src/contract/audit-sign.ts";
import { AuditLog } from "../../src/relay/audit-log.ts";
import { relayLimits } from "../../src/relay/limits.ts";
import { earlierRun } from "../support/earlier-run.ts";
import { tempFolder } from "../support/temp-folder.ts";

const exited = {
  event: "adapter_process_exited",
  exit_code: 0,
  stderr_drained: true,
  stderr_bytes: 0,
  diagnostics: {},
} as const;
const prompt = { event: "prompt_dispatch", effective_config: { model: "m" } } as const;

function begin(log: AuditLog): void {
  log.note({ event: "adapter_process_started", pid: 2, relay_pid: 3, after_bytes: log.afterBytes });
}

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return codeOf(error);
  }
  return "none";
}

test("AuditLog writes a private file of one JSON record a line (R002, R003)", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  const log = new AuditLog(path);
  begin(log);
  log.note(prompt);
  log.note(exited);
  log.close();

  const reading = readAudit(readFileSync(path));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(reading.records.map(({ event }) => event)).toEqual([
    "adapter_process_started",
    "prompt_dispatch",
    "adapter_process_exited",
  ]);
  expect(reading.intact).toBe(true);
  expect(reading.complete).toBe(true);
  expect(readFileSync(path, "utf8")).toMatch(/^\{"event":"adapter_process_started","time_ns":[0-9]{19},/);
});

test("AuditLog refuses a link, a folder, and a file others may read (R003)", async () => {
  await using dir = await tempFolder();
  const target = join(dir.path, "target");
  writeFileSync(target, "", { mode: 0o600 });
  symlinkSync(target, join(dir.path, "link"));
  const shared = join(dir.path, "shared");
  writeFileSync(shared, "x\n");
  chmodSync(shared, 0o644);

  for (const path of [join(dir.path, "link"), dir.path, shared, join(dir.path, "no", "folder")]) {
    expect(refusal(() => new AuditLog(path))).toBe("relay_audit_unwritable");
  }
  expect(readFileSync(target, "utf8")).toBe("");
});

test("AuditLog goes on after an earlier relay, and two at once keep one readable file (R004)", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  const first = new AuditLog(path);
  begin(first);
  const second = new AuditLog(path);
  begin(second);
  for (let turn = 0; turn < 5; turn += 1) {
    first.note(prompt);
    second.note(prompt);
  }
  first.note(exited);
  expect(readAudit(readFileSync(path)).complete).toBe(false);
  second.note(exited);

  const reading = readAudit(readFileSync(path));
  expect(reading.fault).toBeNull();
  expect(reading.complete).toBe(true);
  expect(reading.records).toHaveLength(14);
});

test("AuditLog stops noting at 1 MiB with audit_limit, and still tells the exit", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  writeFileSync(path, earlierRun(relayLimits.auditBytes - relayLimits.auditReserveBytes - 20_000), { mode: 0o600 });
  const log = new AuditLog(path);
  begin(log);
  const model = "m".repeat(100);
  const wide = { event: "config_observed", values: { model, reasoning_effort: model } } as const;
  for (let turn = 0; turn < 200; turn += 1) log.note(wide);
  log.note(exited);
  log.close();

  const bytes = readFileSync(path);
  const reading = readAudit(bytes);
  expect(bytes.length).toBeLessThanOrEqual(relayLimits.auditBytes);
  expect(bytes.length).toBeGreaterThan(relayLimits.auditBytes - relayLimits.auditReserveBytes - 1_000);
  expect(reading.intact).toBe(true);
  expect(reading.complete).toBe(false);
  expect(reading.records.filter(({ event }) => event === "audit_limit")).toHaveLength(1);
  expect(reading.records.slice(-2).map(({ event }) => event)).toEqual(["audit_limit", "adapter_process_exited"]);
  expect(signOf(bytes, reading)).toBeNull();
});

test("AuditLog opens a file just below its reserve and refuses one byte more", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  const room = relayLimits.auditBytes - relayLimits.auditReserveBytes;
  writeFileSync(path, Buffer.alloc(room, 0x0a), { mode: 0o600 });
  new AuditLog(path).close();
  writeFileSync(path, Buffer.alloc(room + 1, 0x0a), { mode: 0o600 });
  expect(refusal(() => new AuditLog(path))).toBe("relay_audit_full");
});

test("readAudit() finds an edit, a lost record, a swap, a foreign field and a torn line", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  const log = new AuditLog(path);
  begin(log);
  log.note(prompt);
  log.note({ event: "diagnostic", category: "http_401", count: 1 });
  log.note(exited);
  const text = readFileSync(path, "utf8");
  const lines = text.trimEnd().split("\n");
  const fault = (changed: string) => {
    const { fault: found, line } = readAudit(Buffer.from(changed));
    return [found, line];
  };

  expect(fault(text)).toEqual([null, null]);
  expect(fault(text.replace('"model":"m"', '"model":"n"'))).toEqual(["audit_chain_broken", 2]);
  expect(fault(`${[lines[0], lines[2], lines[3]].join("\n")}\n`)).toEqual(["audit_chain_broken", 2]);
  expect(fault(`${[lines[0], lines[2], lines[1], lines[3]].join("\n")}\n`)).toEqual(["audit_chain_broken", 2]);
  expect(fault(`${lines.slice(1).join("\n")}\n`)).toEqual(["audit_chain_broken", 1]);
  expect(fault(text.replace('"seq":2', '"note":"free text","seq":2'))).toEqual(["audit_record_malformed", 2]);
  expect(fault(text.slice(0, -1))).toEqual(["audit_line_unfinished", 4]);
  expect(readAudit(Buffer.from(`${lines.slice(0, 3).join("\n")}\n`)).complete).toBe(false);
  expect(readAudit(Buffer.alloc(1_048_577, 0x0a)).fault).toBe("audit_too_large");
});
