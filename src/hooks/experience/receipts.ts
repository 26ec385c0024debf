// The local papers of a promotion: one approval and one effect receipt a proposal, private files in the state folder.
// A receipt is on disk before its effect starts; one without an outcome blocks every further promotion.
import { readdirSync } from "node:fs";
import { sha256Hex, utf8 } from "../../base/bytes.ts";
import { Failure } from "../../base/failure.ts";
import { tryLock } from "../../base/file-lock.ts";
import { isRecord } from "../../base/json.ts";
import { createPrivateFile, replacePrivateFile } from "../../base/private-files.ts";
import type { HooksCode } from "../codes.ts";
import type { HookConfig } from "../config-file.ts";
import { readPrivateText, requireStateFolder } from "../operator-files.ts";
import { compactAscii, parseExact, prettyText } from "../python-json.ts";
import type { Destination } from "./destination.ts";

export type ReceiptState = "approved" | "prepared" | "applied" | "not_applied" | "unknown";

export interface Receipt {
  readonly proposal: string;
  readonly version: string;
  readonly destination: Destination;
  readonly state: ReceiptState;
}

const filePattern = /^experience-[0-9a-f]{64}\.json$/;

/** Everything under one lock of its own: hooks that deliver or recover are neither waited for nor held up. */
export async function underExperienceLock<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  requireStateFolder(stateDir);
  const lock = tryLock(`${stateDir}/.experience.lock`);
  if (lock === null) throw new Failure<HooksCode>("experience_busy");
  try {
    return await work();
  } finally {
    lock.release();
  }
}

function pathOf(config: HookConfig, proposal: string): string {
  const key = compactAscii([config.serverUrl, config.project, config.workflowSessionId, proposal]);
  return `${config.stateDir}/experience-${sha256Hex(key)}.json`;
}

/** The receipt of a proposal, or null. */
export function receiptOf(config: HookConfig, proposal: string): Receipt | null {
  const path = pathOf(config, proposal);
  if (!readdirSync(config.stateDir).includes(path.slice(path.lastIndexOf("/") + 1))) return null;
  return parse(readPrivateText(path));
}

/** Writes the receipt and returns once it is on disk. */
export function keepReceipt(config: HookConfig, receipt: Receipt): void {
  const { kind, name, expected } = receipt.destination;
  const bytes = utf8(prettyText({ ...receipt, destination: { kind, name, expected } }));
  const path = pathOf(config, receipt.proposal);
  if (receiptOf(config, receipt.proposal) === null) createPrivateFile(path, bytes);
  else replacePrivateFile(path, bytes);
}

/** True when some promotion of this state folder has no outcome yet. */
export function hasUnresolved(stateDir: string): boolean {
  return readdirSync(stateDir)
    .filter((name) => filePattern.test(name))
    .some((name) => ["prepared", "unknown"].includes(parse(readPrivateText(`${stateDir}/${name}`)).state));
}

const states: readonly string[] = ["approved", "prepared", "applied", "not_applied", "unknown"];

function parse(text: string): Receipt {
  const value = parseExact(text);
  const to = isRecord(value) ? value["destination"] : undefined;
  const whole =
    isRecord(value) &&
    isRecord(to) &&
    typeof value["proposal"] === "string" &&
    typeof value["version"] === "string" &&
    states.includes(value["state"] as string) &&
    (to["kind"] === "memory" || to["kind"] === "skill") &&
    typeof to["name"] === "string" &&
    (to["expected"] === null || typeof to["expected"] === "string");
  // A damaged receipt may stand for an effect that happened: it blocks, and a person has to look.
  if (!whole) throw new Failure<HooksCode>("experience_receipt_invalid");
  return value as unknown as Receipt;
}
