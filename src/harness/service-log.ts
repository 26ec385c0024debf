// Reduces a closed service log to counts and deletes it; its text is kept nowhere.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { type DiagnosticCategory, type DiagnosticCounts, diagnosticNeedles } from "../base/diagnostics.ts";
import { removeIfPresent } from "../base/private-files.ts";
import { harnessLimits } from "./limits.ts";
import { notePrinted, type PrintedWatch } from "./printed.ts";

export interface ServiceLogSummary {
  readonly log: string;
  readonly bytes_inspected: number;
  readonly limit_bytes: number;
  readonly truncated: boolean;
  readonly categories: DiagnosticCounts;
  readonly raw_deleted: boolean;
  readonly observation?: "unavailable";
  readonly read_errno?: number;
  readonly delete_errno?: number;
}

/** Reads at most the limit, without following a link, then removes the raw bytes whatever happened. */
export function summarizeAndRemoveLog(path: string, watch?: PrintedWatch): ServiceLogSummary {
  const limit = harnessLimits.serviceLogBytes;
  return {
    log: basename(path),
    bytes_inspected: 0,
    limit_bytes: limit,
    truncated: false,
    categories: {},
    ...readSummary(path, { limit, watch }),
    ...remove(path),
  };
}

function readSummary(
  path: string,
  { limit, watch }: { readonly limit: number; readonly watch: PrintedWatch | undefined },
): Partial<ServiceLogSummary> {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return unavailable(error);
  }
  try {
    const size = fstatSync(fd).size;
    const buffer = Buffer.alloc(Math.min(size, limit));
    let at = 0;
    while (at < buffer.length) {
      const count = readSync(fd, buffer, at, buffer.length - at, at);
      if (count === 0) break;
      at += count;
    }
    const channel = basename(path).startsWith("webcodex-runner") ? "runner_log" : "server_log";
    if (watch !== undefined) notePrinted(watch, channel, buffer.subarray(0, at));
    const categories = occurrences(buffer.subarray(0, at).toString("latin1").toLowerCase());
    return { bytes_inspected: at, truncated: size > at, categories };
  } catch (error) {
    return unavailable(error);
  } finally {
    closeSync(fd);
  }
}

function unavailable(error: unknown): Partial<ServiceLogSummary> {
  return { observation: "unavailable", read_errno: errnoOf(error) };
}

function remove(path: string): Pick<ServiceLogSummary, "raw_deleted" | "delete_errno"> {
  try {
    removeIfPresent(path);
    return { raw_deleted: true };
  } catch (error) {
    return { raw_deleted: false, delete_errno: errnoOf(error) };
  }
}

function errnoOf(error: unknown): number {
  const found = (error as { errno?: unknown; cause?: { errno?: unknown } } | null) ?? {};
  const number = found.errno ?? found.cause?.errno;
  return typeof number === "number" ? Math.abs(number) : 0;
}

/** A closed log is counted by occurrence; a live stream, elsewhere, by piece. */
function occurrences(text: string): DiagnosticCounts {
  const counts: DiagnosticCounts = {};
  for (const [name, needle] of Object.entries(diagnosticNeedles)) {
    const count = text.split(needle).length - 1;
    if (count > 0) counts[name as DiagnosticCategory] = count;
  }
  return counts;
}
