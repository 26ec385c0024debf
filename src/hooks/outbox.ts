// Reports that are saved but not yet acknowledged: one private file each in the operator's state folder, named by
// what it holds. Saving takes no lock and is on disk before it returns. Nothing here deletes what it cannot read.
import { closeSync, constants, fstatSync, fsyncSync, openSync, readdirSync, writeSync } from "node:fs";
import { decodeUtf8, equalBytes, utf8 } from "../base/bytes.ts";
import { codeOf, Failure, systemCodeOf } from "../base/failure.ts";
import { createPrivateFile, readPrivateFile, removeIfPresent, syncFolder } from "../base/private-files.ts";
import { effectiveUserId } from "../base/self.ts";
import { isHex } from "./characters.ts";
import type { HooksCode } from "./codes.ts";
import { hookLimits } from "./limits.ts";

const refusalPattern = /^[0-9a-f]{64}\.refused$/;

/** Names of all records, sorted; other entries of the folder are nobody's business here. */
export function listRecords(stateDir: string): string[] {
  return recordsOf(stateDir).sort();
}

function recordsOf(stateDir: string): string[] {
  return readdirSync(stateDir).filter(isRecordName);
}

function isRecordName(name: string): boolean {
  return name.length === 69 && name.endsWith(".json") && isHex(name.slice(0, 64));
}

/** Saves a record; throws with the reason when it is not saved. Saving the same again changes nothing. */
export function saveRecord(stateDir: string, name: string, text: string): void {
  const present = recordsOf(stateDir);
  const path = `${stateDir}/${name}`;
  if (present.includes(name)) {
    keepSame(path, text);
    return;
  }
  if (present.length >= hookLimits.maxPending) throw new Failure<HooksCode>("pending_capacity_event_not_saved");
  try {
    createPrivateFile(path, text);
  } catch (error) {
    if (codeOf(error) !== "private_file_exists") throw new Failure<HooksCode>("event_not_saved", { cause: error });
    keepSame(path, text);
    return;
  }
  // Savers take no lock, so the count may have been passed meanwhile by as many as saved at once, and no further.
  if (recordsOf(stateDir).length > hookLimits.maxPendingHard) {
    removeRecord(stateDir, name);
    throw new Failure<HooksCode>("pending_capacity_event_not_saved");
  }
}

/** The record is there: equal is saved, the beginning of it is completed, anything else is a conflict. */
function keepSame(path: string, text: string): void {
  const wanted = utf8(text);
  let found: Uint8Array;
  try {
    found = readPrivateFile(path, { maxBytes: hookLimits.maxInputBytes });
  } catch (error) {
    throw new Failure<HooksCode>("pending_event_conflict", { cause: error });
  }
  if (equalBytes(found, wanted)) return;
  const isBeginning = found.length < wanted.length && equalBytes(found, wanted.subarray(0, found.length));
  if (!isBeginning) throw new Failure<HooksCode>("pending_event_conflict");
  // A saver of this very report was killed half way, or is writing now: both write the same bytes to the same place.
  completeRecord(path, wanted);
}

function completeRecord(path: string, bytes: Uint8Array): void {
  const { O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const fd = openSync(path, O_WRONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0));
    try {
      const found = fstatSync(fd);
      const uid = effectiveUserId();
      const own = uid === null || (found.uid === uid && (found.mode & 0o077) === 0);
      if (!found.isFile() || found.nlink !== 1 || !own) throw new Failure<HooksCode>("invalid_pending_file");
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    syncFolder(path.slice(0, path.lastIndexOf("/")));
  } catch (error) {
    throw new Failure<HooksCode>("event_not_saved", { cause: error });
  }
}

/** The text of a record; null when it is gone. */
export function readRecord(stateDir: string, name: string): string | null {
  try {
    return decodeUtf8(readPrivateFile(`${stateDir}/${name}`, { maxBytes: hookLimits.maxInputBytes })) ?? "";
  } catch (error) {
    const code = codeOf(error);
    if (code === "private_file_missing") return null;
    const tooLarge = code === "private_file_too_large";
    throw new Failure<HooksCode>(tooLarge ? "oversized_pending_file" : "invalid_pending_file", { cause: error });
  }
}

/** Takes an acknowledged record away, with the note that it was refused before. */
export function removeRecord(stateDir: string, name: string): void {
  removeIfPresent(`${stateDir}/${name}`);
  removeIfPresent(`${stateDir}/${refusalName(name)}`);
  syncFolder(stateDir);
}

function refusalName(name: string): string {
  return name.replace(/\.json$/, ".refused");
}

/** Notes that the server refused a record, so that hooks do not send it again and again. */
export function markRefused(stateDir: string, name: string, kind: string): void {
  try {
    createPrivateFile(`${stateDir}/${refusalName(name)}`, kind);
  } catch (error) {
    // Already noted, or no room for a note: at worst the record is sent once more and refused once more.
    if (!(error instanceof Failure)) throw error;
  }
}

/** The refusals that are noted: record name → the server's own word. */
export function listRefusals(stateDir: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(stateDir)) {
    if (!refusalPattern.test(entry)) continue;
    found.set(entry.replace(/\.refused$/, ".json"), refusalKind(`${stateDir}/${entry}`));
  }
  return found;
}

function refusalKind(path: string): string {
  try {
    const text = decodeUtf8(readPrivateFile(path, { maxBytes: 100 })) ?? "";
    return /^[a-z0-9_]{1,100}$/.test(text) ? text : "unknown";
  } catch (error) {
    // A note that cannot be read still says that there was a refusal.
    if (error instanceof Failure || systemCodeOf(error) !== undefined) return "unknown";
    throw error;
  }
}
