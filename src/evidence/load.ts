// Reads one finished report, given as its folder or as the file itself. Bounded, no links, bytes kept for the digest.
import { lstatSync, type Stats } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { sha256Hex } from "../base/bytes.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import { Report, reportFormat } from "../contract/report.ts";
import type { EvidenceCode } from "./codes.ts";
import { evidenceLimits } from "./limits.ts";

export interface LoadedReport {
  readonly folder: string;
  /** SHA-256 of the report's bytes: what `--digest` is compared with. */
  readonly digest: string;
  readonly raw: Readonly<Record<string, unknown>>;
  /** The parsed report; null when a field is not of its kind, with the paths in `problems`. */
  readonly report: Report | null;
  readonly problems: readonly string[];
}

/** Throws only when there is no report of our format to look at. */
export function loadReport(path: string): LoadedReport {
  const file = reportFile(path);
  const bytes = readBytes(file);
  const raw = parseJson(bytes);
  if (!isRecord(raw)) throw new Failure<EvidenceCode>("report_unreadable");
  if (raw["format"] !== reportFormat) throw new Failure<EvidenceCode>("report_format_unknown");
  const parsed = Report.safeParse(raw);
  const problems = parsed.success ? [] : parsed.error.issues.map((issue) => issue.path.join(".") || "report");
  return {
    folder: dirname(file),
    digest: sha256Hex(bytes),
    raw,
    report: parsed.success ? parsed.data : null,
    problems: problems.slice(0, 20),
  };
}

/** A loaded report that has to be whole, for rendering. */
export function loadWholeReport(path: string): LoadedReport & { readonly report: Report } {
  const loaded = loadReport(path);
  if (loaded.report === null) throw new Failure<EvidenceCode>("report_format_unknown");
  return { ...loaded, report: loaded.report };
}

function reportFile(path: string): string {
  const full = resolve(path);
  if (!lookAt(full).isDirectory()) return full;
  const inside = join(full, "report.json");
  lookAt(inside);
  return inside;
}

function lookAt(path: string): Stats {
  let found: Stats | undefined;
  try {
    found = lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A name that is too long, or below a file, is the name of nothing; a closed folder on the way hides what is there.
    const hidden = systemCodeOf(error) === "EACCES";
    throw new Failure<EvidenceCode>(hidden ? "report_unreadable" : "report_missing", { cause: error });
  }
  if (found === undefined) throw new Failure<EvidenceCode>("report_missing");
  return found;
}

function readBytes(file: string): Uint8Array {
  try {
    return readRegularFile(file, { maxBytes: evidenceLimits.reportBytes });
  } catch (error) {
    throw new Failure<EvidenceCode>("report_unreadable", { cause: error });
  }
}
