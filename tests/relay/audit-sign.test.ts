// What each kind of tampering with an audit file is called, for every record of it.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { auditMaxBytes, readAudit } from "../../src/contract/audit.ts";
import { type AuditSign, auditSigns, signOf } from "../../src/contract/audit-sign.ts";
import { AuditLog } from "../../src/relay/audit-log.ts";
import { tempFolder } from "../support/temp-folder.ts";

const exited = {
  event: "adapter_process_exited",
  exit_code: 0,
  stderr_drained: true,
  stderr_bytes: 0,
  diagnostics: {},
} as const;

/** One run's records, ended or not, after what is in the file already. */
function writeRun(path: string, ends = true): void {
  const log = new AuditLog(path);
  log.note({ event: "adapter_process_started", pid: 2, relay_pid: 3, after_bytes: log.afterBytes });
  log.note({ event: "prompt_dispatch", effective_config: { model: "m" } });
  log.note({ event: "diagnostic", category: "http_401", count: 1 });
  if (ends) log.note(exited);
  log.close();
}

const signIn = (text: string | Uint8Array): AuditSign | null => {
  const bytes = Buffer.from(text as string);
  return signOf(bytes, readAudit(bytes));
};
const file = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

test("signOf() names a changed byte, a removed, moved or repeated record, a cut line and a missing end", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  writeRun(path);
  writeRun(path);
  const text = readFileSync(path, "utf8");
  const lines = text.trimEnd().split("\n");
  const first = lines.slice(0, 4);
  expect(signIn(text)).toBeNull();

  for (const at of lines.keys()) {
    const others = lines.toSpliced(at, 1);
    const changed = lines.with(at, (lines[at] ?? "").replace(/"time_ns":1/, '"time_ns":2'));
    expect(signIn(file(changed))).toBe("record_changed");
    expect(signIn(file(lines.with(at, '{"event":"other"}')))).toBe("record_foreign");
    // A repeated first record claims to begin again what has begun; any other has had its turn.
    expect(signIn(file(lines.toSpliced(at + 1, 0, lines[at] ?? "")))).toBe("record_repeated");
    // The last record of a run has none after it that would miss it.
    if (at % 4 !== 3) expect(signIn(file(others))).toBe("record_removed");
    if (at % 4 < 3)
      expect(signIn(file(lines.with(at, lines[at + 1] ?? "").with(at + 1, lines[at] ?? "")))).toBe("record_moved");
  }
  for (let cut = 1; cut < (lines[3] ?? "").length; cut += 17) {
    expect(signIn(`${file(first)}`.slice(0, -cut))).toBe("line_cut");
  }
  expect(signIn(file(first.slice(0, 3)))).toBe("end_missing");
  expect(signIn(new Uint8Array(auditMaxBytes + 1))).toBe("file_grown");
});

test("signOf() finds that an earlier run was taken out of the file or changed", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "audit.jsonl");
  writeRun(path, false);
  writeRun(path);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(signIn(file(lines))).toBe("end_missing");
  // The second run remembers what stood before it, also its last record.
  expect(signIn(file(lines.toSpliced(2, 1)))).toBe("record_changed");
  expect(signIn(file(lines.slice(3)))).toBe("record_changed");
});

test("every sign has one sentence", () => {
  expect(Object.values(auditSigns).every((sentence) => /^[A-Z].*\.$/.test(sentence))).toBe(true);
});
