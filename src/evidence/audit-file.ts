// Compares the relay's file on disk with what the report says of it: bytes, number of records, counted facts.
// A cut or removed line is told apart from a changed byte by the number of records.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../base/bytes.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import type { AuditFacts, Report } from "../contract/report.ts";
import { type AuditRecordView, auditFacts } from "../judge/audit.ts";
import type { Finding } from "./codes.ts";
import { sameValue } from "./cross-check.ts";
import { evidenceLimits } from "./limits.ts";

/** Findings about the relay's file; none when the report names none. */
export function checkAuditFile(folder: string, report: Report): Finding[] {
  const { audit } = report;
  const facts = report.facts?.audit;
  if (audit === undefined || facts === null || facts === undefined) return [];
  const bytes = readAudit(join(folder, audit.path));
  // A missing or replaced file is the manifest's finding.
  if (bytes === null) return [];
  const records = readRecords(bytes);
  const sha256 = sha256Hex(bytes);
  if (sha256 !== audit.sha256) return [{ code: changeOf(records.length, audit.count), where: audit.path }];
  const counted: AuditFacts = auditFacts(records, { sha256, intact: facts.intact });
  return sameValue(counted, facts) ? [] : [{ code: "audit_facts_edited", where: "facts.audit" }];
}

/** The records of an audit file; a line that is no object with an event is not one. */
export function readRecords(bytes: Uint8Array): AuditRecordView[] {
  const records: AuditRecordView[] = [];
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(0x0a, start);
    const line = bytes.subarray(start, end < 0 ? bytes.length : end);
    // A last line without its newline was cut.
    if (end < 0) break;
    start = end + 1;
    const value = line.length > evidenceLimits.auditLineBytes ? undefined : parseJson(line);
    if (isRecord(value) && typeof value["event"] === "string") records.push(value as unknown as AuditRecordView);
  }
  return records;
}

function changeOf(found: number, said: number): "audit_line_removed" | "audit_line_added" | "audit_changed" {
  if (found < said) return "audit_line_removed";
  return found > said ? "audit_line_added" : "audit_changed";
}

function readAudit(path: string): Uint8Array | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > evidenceLimits.auditBytes) return null;
  return readRegularFile(path, { maxBytes: evidenceLimits.auditBytes });
}
