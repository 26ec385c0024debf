// Compares the relay's file on disk with what the report says of it: bytes, number of records, counted facts.
// A cut or removed line is told apart from a changed byte by the number of records.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { readRegularFile } from "../base/private-files.ts";
import { readAudit } from "../contract/audit.ts";
import type { AuditFacts, Report } from "../contract/report.ts";
import { auditFacts } from "../judge/audit.ts";
import type { Finding } from "./codes.ts";
import { sameValue } from "./cross-check.ts";
import { evidenceLimits } from "./limits.ts";

/** Findings about the relay's file; none when the report names none. */
export function checkAuditFile(folder: string, report: Report): Finding[] {
  const { audit } = report;
  const facts = report.facts?.audit;
  if (audit === undefined || facts === null || facts === undefined) return [];
  const bytes = readBytes(join(folder, audit.path));
  // A missing or replaced file is the manifest's finding.
  if (bytes === null) return [];
  const reading = readAudit(bytes);
  const where = audit.path;
  if (reading.sha256 !== audit.sha256) {
    const lines = bytes.filter((byte) => byte === 0x0a).length;
    if (lines < audit.count) return [{ code: "audit_line_removed", where }];
    if (lines > audit.count) return [{ code: "audit_line_added", where }];
    return [{ code: reading.intact ? "audit_changed" : "audit_chain_broken", where }];
  }
  if (facts.intact && !reading.intact) return [{ code: "audit_chain_broken", where }];
  const counted: AuditFacts = auditFacts(reading.records, reading);
  return sameValue(counted, facts) ? [] : [{ code: "audit_facts_edited", where: "facts.audit" }];
}

function readBytes(path: string): Uint8Array | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > evidenceLimits.auditBytes) return null;
  return readRegularFile(path, { maxBytes: evidenceLimits.auditBytes });
}
