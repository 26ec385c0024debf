// A full disk, or a folder that stopped taking files, is the host's matter and has one code, whatever it broke first: a
// report, a service's database or a repository. So a failure is asked for its cause, and the folder for its free room.
import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs";
import { codeOf, Failure, systemCodeOf } from "../base/failure.ts";
import type { HarnessCode } from "./codes.ts";
import { harnessLimits } from "./limits.ts";

/** A code of ours, or for anything else the kind of error alone: never its text. */
export function failureOf(error: unknown): string {
  if (ranOutOfRoom(error)) return "harness_evidence_unwritable" satisfies HarnessCode;
  const code = codeOf(error);
  if (code !== "internal") return code;
  return error instanceof Error && /^[A-Za-z]{1,60}$/.test(error.name) ? error.name : "internal";
}

/** The same for what went wrong in a run that writes to this folder: a program may have met the full disk before us. */
export function failureIn(folder: string, error: unknown): string {
  return isFull(freeBytes(folder)) ? ("harness_evidence_unwritable" satisfies HarnessCode) : failureOf(error);
}

/** Whether so little room is left that no program could be expected to work. */
export function isFull(free: number): boolean {
  return free < harnessLimits.minFreeBytes;
}

/**
 * The last words in a report that cannot be replaced any more, because two of it do not fit: what it says already, with
 * the failure, over its own bytes. It is shorter than before, so that no new room is asked for.
 */
export function markFailed(path: string, written: Readonly<Record<string, unknown>>, failure: string): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0));
    const bytes = Buffer.from(`${JSON.stringify({ ...written, state: "failed", failure })}\n`);
    if (bytes.length > fstatSync(fd).size) return false;
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at);
    ftruncateSync(fd, bytes.length);
    fsyncSync(fd);
    return true;
  } catch {
    return false; // nothing more can be said there; the caller tells it
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function ranOutOfRoom(error: unknown, depth = 0): boolean {
  if (["ENOSPC", "EDQUOT"].includes(systemCodeOf(error) ?? "")) return true;
  return error instanceof Error && depth < 8 && ranOutOfRoom(error.cause, depth + 1);
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY; // not known, so nothing is blamed on it
  }
}

/** What a writer of the report throws, whatever the system said. */
export function unwritable(cause: unknown): Failure {
  return new Failure<HarnessCode>("harness_evidence_unwritable", { cause });
}
