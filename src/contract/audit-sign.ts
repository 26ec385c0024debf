// Says what a faulty audit file looks like to a reader: which kind of change its records and their numbers show. The
// fault itself is `readAudit`'s; this only puts the most likely word to it, and changes no verdict.

import { decodeUtf8 } from "../base/bytes.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { AuditReading } from "./audit.ts";

/** Each sign with the sentence for people. */
export const auditSigns = {
  record_changed: "This record was changed, or what stood before it.",
  record_removed: "Records before this one were taken out.",
  record_moved: "This record does not stand where it was written.",
  record_repeated: "This record stands here a second time.",
  record_foreign: "This line is no record that a relay writes.",
  line_cut: "The file ends in the middle of a record.",
  end_missing: "The last record is missing: the end was cut off, or the relay was killed or still runs.",
  file_grown: "The file is longer than a relay ever makes it.",
} as const;
export type AuditSign = keyof typeof auditSigns;

interface Numbered {
  readonly text: string;
  readonly segment: string;
  readonly seq: number;
}

/** The sign of a reading, or null for a file that is whole to its end. */
export function signOf(bytes: Uint8Array, reading: AuditReading): AuditSign | null {
  switch (reading.fault) {
    case null: {
      const limited = reading.records.some((record) => record.event === "audit_limit");
      return reading.complete || limited ? null : "end_missing";
    }
    case "audit_too_large":
      return "file_grown";
    case "audit_line_unfinished":
      return "line_cut";
    case "audit_not_utf8":
    case "audit_record_malformed":
      return "record_foreign";
    case "audit_chain_broken":
      return signOfBreak(numberedLines(bytes), (reading.line ?? 1) - 1);
  }
}

/** A record's number shows whether it stands where it was written; where it does, its own bytes were touched. */
function signOfBreak(lines: readonly (Numbered | null)[], at: number): AuditSign {
  const broken = lines[at];
  if (broken == null) return "record_foreign";
  const ofSegment = (line: Numbered | null): line is Numbered => line !== null && line.segment === broken.segment;
  const before = lines.slice(0, at).filter(ofSegment);
  const due = (before.at(-1)?.seq ?? 0) + 1;
  if (broken.seq === due) return "record_changed";
  if (before.some((line) => line.text === broken.text)) return "record_repeated";
  if (broken.seq < due) return "record_moved";
  const elsewhere = lines.slice(at + 1).some((line) => ofSegment(line) && line.seq === due);
  return elsewhere ? "record_moved" : "record_removed";
}

function numberedLines(bytes: Uint8Array): (Numbered | null)[] {
  return (decodeUtf8(bytes) ?? "").split("\n").map((text) => {
    const value = parseJson(text);
    if (!isRecord(value) || typeof value.segment !== "string" || typeof value.seq !== "number") return null;
    return { text, segment: value.segment, seq: value.seq };
  });
}
