// The last evidence offered to one conversation, kept privately so that a change is noticed. A snapshot proves that
// something was offered, not that anybody read it, and it is never shown in place of the server's answer.
import { readdirSync } from "node:fs";
import { sha256Hex } from "../base/bytes.ts";
import { codeOf, Failure } from "../base/failure.ts";
import { tryLock } from "../base/file-lock.ts";
import { isRecord } from "../base/json.ts";
import type { HooksCode } from "./codes.ts";
import { hookLimits } from "./limits.ts";
import { readPrivateText, requireStateFolder } from "./operator-files.ts";
import { compactAscii, type ExactJson, parseExact } from "./python-json.ts";
import { loadRegistry, type Registry, registryValue, sameValue, writeBounded } from "./registry-file.ts";

export interface SnapshotKey {
  readonly serverUrl: string;
  readonly conversation: string;
  readonly project: string;
  readonly sessionId: string;
}

/** The file name of one conversation's snapshot. */
export function snapshotName(key: SnapshotKey): string {
  return `recovery-${sha256Hex(compactAscii([key.serverUrl, key.conversation, key.project, key.sessionId]))}.json`;
}

export function fingerprintOf(evidence: ExactJson): string {
  return sha256Hex(compactAscii(evidence, { sorted: true }));
}

export interface KeptSnapshot {
  readonly path: string;
  readonly changed: boolean;
}

/** Compares and, when changed, replaces the snapshot, under the state lock and an unchanged registry. */
export function keepSnapshot(
  place: { readonly registryPath: string; readonly registry: Registry; readonly name: string },
  evidence: ExactJson,
): KeptSnapshot {
  const { stateDir } = place.registry;
  return underStateLock(stateDir, () => {
    requireSameRegistry(place.registryPath, place.registry);
    const path = `${stateDir}/${place.name}`;
    const previous = readSnapshot(path);
    const fingerprint = fingerprintOf(evidence);
    if (isRecord(previous) && previous.fingerprint === fingerprint) return { path, changed: false };
    if (previous === null && countSnapshots(stateDir) >= hookLimits.maxSnapshots) {
      throw new Failure<HooksCode>("recovery_cache_capacity");
    }
    writeBounded(path, { fingerprint, evidence });
    return { path, changed: true };
  });
}

/** The stored value; null when there is none. A link, a shared file or broken JSON is a failure and stays. */
function readSnapshot(path: string): ExactJson {
  let text: string;
  try {
    text = readPrivateText(path);
  } catch (error) {
    if (codeOf(error) === "private_file_missing") return null;
    throw error;
  }
  const value = parseExact(text);
  if (value === undefined) throw new Failure<HooksCode>("read_unconfirmed");
  // JSON that is no object is an earlier value like any other: different, and to be replaced.
  return value ?? false;
}

function countSnapshots(stateDir: string): number {
  return readdirSync(stateDir).filter((name) => name.startsWith("recovery-")).length;
}

/** Throws when the registry on disk is not the one that was used. */
export function requireSameRegistry(path: string, used: Registry): void {
  if (!sameValue(registryValue(loadRegistry(path)), registryValue(used))) {
    throw new Failure<HooksCode>("registry_changed");
  }
}

/** Runs `work` while holding the lock of a private state folder; busy is a failure, nothing waits. */
export function underStateLock<T>(stateDir: string, work: () => T): T {
  requireStateFolder(stateDir);
  const lock = tryLock(`${stateDir}/.lock`);
  if (lock === null) throw new Failure<HooksCode>("adapter_busy_event_not_saved");
  try {
    return work();
  } finally {
    lock.release();
  }
}
