// A private note of what the hooks of one state folder did: fixed words and counts, one line each, bounded in size.
// It never holds a name, a path or text of the host; a ledger that cannot be written never fails a hook.
import { closeSync, constants, fchmodSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import { decodeUtf8, utf8 } from "../base/bytes.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { readPrivateFile } from "../base/private-files.ts";
import { effectiveUserId } from "../base/self.ts";
import { hookLimits } from "./limits.ts";

export const ledgerName = "hook-ledger.ndjson";

export interface LedgerLine {
  readonly at: number;
  readonly hook: "observe" | "flush" | "recover";
  readonly status: string;
  readonly reason?: string;
  readonly acknowledged?: number;
}

/** Adds one line with one append; two processes never mix their lines. */
export function noteInLedger(stateDir: string, line: LedgerLine): void {
  try {
    append(`${stateDir}/${ledgerName}`, utf8(`${JSON.stringify(line)}\n`));
  } catch {
    // The note is for doctor; the work it tells of is done or reported already.
  }
}

function append(path: string, bytes: Uint8Array): void {
  const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_APPEND | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0), 0o600);
  try {
    const found = fstatSync(fd);
    const uid = effectiveUserId();
    if (!found.isFile() || found.nlink !== 1 || (uid !== null && found.uid !== uid)) return;
    if ((found.mode & 0o077) !== 0) fchmodSync(fd, 0o600);
    writeSync(fd, bytes);
    // The older half is kept under a second name, so that the pair stays within twice the limit.
    if (found.size + bytes.length > hookLimits.maxLedgerBytes) renameSync(path, `${path}.1`);
  } finally {
    closeSync(fd);
  }
}

/** The newest lines that can be read, oldest first. */
export function readLedger(stateDir: string): LedgerLine[] {
  const lines: LedgerLine[] = [];
  for (const path of [`${stateDir}/${ledgerName}.1`, `${stateDir}/${ledgerName}`]) {
    for (const line of textOf(path).split("\n")) {
      const value = parseJson(line);
      if (isLedgerLine(value)) lines.push(value);
    }
  }
  return lines;
}

function textOf(path: string): string {
  try {
    return decodeUtf8(readPrivateFile(path, { maxBytes: hookLimits.maxLedgerBytes * 2 })) ?? "";
  } catch {
    // No ledger yet, or one that is not private: doctor then has nothing to count.
    return "";
  }
}

function isLedgerLine(value: unknown): value is LedgerLine {
  if (!isRecord(value)) return false;
  const known = value.hook === "observe" || value.hook === "flush" || value.hook === "recover";
  return known && typeof value.at === "number" && typeof value.status === "string";
}
