// Compares the files beside a report with its list: changed, missing, moved, replaced by a link, or extra.
// Works offline on the folder alone and writes nothing.
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { sha256FileHex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { type Manifest, manifestCovers, type Report } from "../contract/report.ts";
import type { EvidenceCode, Finding } from "./codes.ts";
import { evidenceLimits } from "./limits.ts";

/** What differs between the list and the folder, in the list's order, extra files last. */
export function compareManifest(folder: string, manifest: Manifest): Finding[] {
  const findings: Finding[] = [];
  const listed = new Map<string, Manifest["files"][number]>();
  for (const file of manifest.files) {
    if (listed.has(file.path) || !isInside(file.path)) findings.push({ code: "manifest_repeated", where: file.path });
    else listed.set(file.path, file);
  }
  const there = coveredFiles(folder);
  const extra = new Map(there.filter((path) => !listed.has(path)).map((path) => [path, hashOf(folder, path)]));
  for (const file of listed.values()) {
    const finding = compareFile(folder, file, extra);
    if (finding !== null) findings.push(finding);
  }
  for (const path of extra.keys()) findings.push({ code: "file_extra", where: path });
  return findings;
}

/** The list has to name the files that facts of the report rest on. */
export function manifestGaps(report: Report): Finding[] {
  if (report.manifest === undefined) return [{ code: "manifest_missing", where: "manifest" }];
  const listed = new Set(report.manifest.files.map((file) => file.path));
  const needed = [
    ...(report.audit === undefined ? [] : [report.audit.path]),
    ...(report.facts?.managed?.diff_sha256 ? ["implementation.diff"] : []),
  ];
  return needed.filter((path) => !listed.has(path)).map((path) => ({ code: "manifest_missing", where: path }));
}

/** Every path under the folder that the list has to name. */
export function coveredFiles(folder: string): string[] {
  const found: string[] = [];
  const walk = (relative: string, depth: number): void => {
    if (depth > evidenceLimits.walkedDepth) throw new Failure<EvidenceCode>("evidence_too_many_files");
    for (const entry of readdirSync(join(folder, relative), { withFileTypes: true })) {
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) {
        if (mayHoldCovered(path)) walk(path, depth + 1);
        continue;
      }
      if (!manifestCovers(path)) continue;
      if (found.push(path) > evidenceLimits.walkedFiles) throw new Failure<EvidenceCode>("evidence_too_many_files");
    }
  };
  walk("", 0);
  return found.sort();
}

function mayHoldCovered(path: string): boolean {
  return manifestCovers(`${path}/x`);
}

function compareFile(
  folder: string,
  file: Manifest["files"][number],
  extra: Map<string, string | null>,
): Finding | null {
  const stat = lstatSync(join(folder, file.path), { throwIfNoEntry: false });
  if (stat === undefined) {
    const moved = [...extra].find(([, sha256]) => sha256 === file.sha256)?.[0];
    if (moved === undefined) return { code: "file_missing", where: file.path };
    extra.delete(moved);
    return { code: "file_moved", where: `${file.path} -> ${moved}` };
  }
  if (!stat.isFile()) return { code: "file_replaced", where: file.path };
  const same = stat.size === file.bytes && hashOf(folder, file.path) === file.sha256;
  return same ? null : { code: "file_changed", where: file.path };
}

function hashOf(folder: string, path: string): string | null {
  const full = join(folder, path);
  return lstatSync(full).isFile() ? sha256FileHex(full) : null;
}

function isInside(path: string): boolean {
  return (
    path !== "" &&
    !path.startsWith("/") &&
    !path.split("/").some((part) => part === ".." || part === "" || part === ".")
  );
}
