// The relay's audit file: its events, and how a reader checks a whole file. No event can hold free text; a word that
// is not plainly a name is kept as a digest only, so neither a prompt nor a credential can get in.

import { decodeUtf8, sha256Hex } from "../base/bytes.ts";
import { parseJson } from "../base/json.ts";
import { chainStart, followsFrom, splitChained } from "./audit-chain.ts";
import { z } from "./schema.ts";

/** A word that may be kept: it begins with a letter or digit and holds no blank. */
export const listedWord = /^[A-Za-z0-9][A-Za-z0-9._:/@+[\]-]{0,99}$/;

export const auditMaxBytes = 1_048_576;

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
const Word = z.string().regex(listedWord);
const Unlisted = z.strictObject({ unlisted_sha256: Digest });
/** Missing in the frame is "". */
const Name = z.union([Word, z.literal(""), Unlisted]);
const Version = z.union([Word.max(40), z.literal(""), Unlisted]);
const Value = z.union([Word, z.boolean(), Unlisted]);
const Config = z.strictObject({ model: Value.optional(), reasoning_effort: Value.optional() });
const Category = z.enum([
  "unknown_config_field",
  "http_401",
  "permission_denied",
  "unauthorized",
  "failed_to_refresh_token",
  "invalid_grant",
  "refresh_token_invalidated",
  "refresh_token_expired",
  "refresh_token_reused",
]);
const Count = z.int().nonnegative();

const common = {
  time_ns: z.number().nonnegative(),
  /** Tells the records of one relay from those of another that wrote to the same file. */
  segment: z.string().regex(/^[0-9a-f]{16}$/),
  seq: z.int().positive(),
  chain: Digest,
};
const event = <N extends string, T extends z.core.$ZodLooseShape>(name: N, fields: T) =>
  z.strictObject({ event: z.literal(name), ...common, ...fields });

export const AuditRecord = z.discriminatedUnion("event", [
  event("adapter_process_started", { pid: z.int().positive(), relay_pid: z.int().positive(), after_bytes: Count }),
  event("adapter_identity", { name: Name, version: Version }),
  event("config_observed", { values: Config }),
  event("prompt_dispatch", { effective_config: Config }),
  event("frame_limit", { direction: z.enum(["request", "response"]) }),
  event("audit_limit", {}),
  event("diagnostic", { category: Category, count: z.literal(1) }),
  event("adapter_process_exited", {
    /** The status, or minus the number of the signal. */
    exit_code: z.int(),
    stderr_drained: z.boolean(),
    stderr_bytes: Count,
    diagnostics: z.partialRecord(Category, Count),
  }),
]);
export type AuditRecord = z.infer<typeof AuditRecord>;

/** The records without what the log itself adds. */
export type AuditEvent = AuditRecord extends infer R
  ? R extends AuditRecord
    ? Omit<R, keyof typeof common>
    : never
  : never;

export type AuditFault =
  | "audit_too_large"
  | "audit_not_utf8"
  | "audit_line_unfinished"
  | "audit_record_malformed"
  | "audit_chain_broken";

export interface AuditReading {
  readonly records: readonly AuditRecord[];
  readonly sha256: string;
  /** Every line is a record and follows from the one before it. */
  readonly intact: boolean;
  readonly fault: AuditFault | null;
  /** The first line at fault, from 1. */
  readonly line: number | null;
  /** Every segment ended with its adapter's exit, and none ran into the limit. */
  readonly complete: boolean;
}

/** Reads a whole audit file. A fault ends the reading; the records before it are still given. */
export function readAudit(bytes: Uint8Array): AuditReading {
  const records: AuditRecord[] = [];
  const read = (fault: AuditFault | null, line: number | null): AuditReading => {
    const sha256 = sha256Hex(bytes);
    return { records, sha256, intact: fault === null, fault, line, complete: fault === null && isComplete(records) };
  };
  if (bytes.byteLength > auditMaxBytes) return read("audit_too_large", null);
  const segments = new Map<string, { chain: string; seq: number }>();
  let from = 0;
  for (let line = 1; from < bytes.byteLength; line += 1) {
    const end = bytes.indexOf(0x0a, from);
    if (end < 0) return read("audit_line_unfinished", line);
    const text = decodeUtf8(bytes.subarray(from, end));
    if (text === null) return read("audit_not_utf8", line);
    const part = splitChained(text);
    const parsed = AuditRecord.safeParse(parseJson(text));
    if (part === null || !parsed.success) return read("audit_record_malformed", line);
    const record = parsed.data;
    const before = segments.get(record.segment) ?? openSegment(record, bytes.subarray(0, from));
    if (before === null || record.seq !== before.seq + 1 || !followsFrom(before.chain, part)) {
      return read("audit_chain_broken", line);
    }
    segments.set(record.segment, { chain: record.chain, seq: record.seq });
    records.push(record);
    from = end + 1;
  }
  return read(null, null);
}

function openSegment(record: AuditRecord, before: Uint8Array): { chain: string; seq: number } | null {
  if (record.event !== "adapter_process_started" || record.after_bytes > before.byteLength) return null;
  return { chain: chainStart(before.subarray(0, record.after_bytes)), seq: 0 };
}

function isComplete(records: readonly AuditRecord[]): boolean {
  const last = new Map(records.map((record) => [record.segment, record.event]));
  const limited = records.some((record) => record.event === "audit_limit");
  return records.length > 0 && !limited && [...last.values()].every((name) => name === "adapter_process_exited");
}
