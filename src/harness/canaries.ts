// Random marks planted where private text goes, looked for in everything that is kept to be shown.
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { toHex } from "../base/bytes.ts";
import { readRegularFile } from "../base/private-files.ts";
import { systemRandom } from "../base/random.ts";
import type { Canaries } from "../contract/report.ts";
import { canaryForms } from "../judge/privacy.ts";
import { harnessLimits } from "./limits.ts";
import type { Workspace } from "./workspace.ts";

export interface Canary {
  readonly id: string;
  readonly where: "prompt" | "environment" | "argument" | "file" | "credential";
  readonly text: string;
}

/** The run's own working data: not searched for prompt and file marks, only for credentials. */
export const workingFolders = ["private", "data", "state", "config", "xdg-data", "project"] as const;
/** Files whose job is to hold the credentials of a run. */
const credentialFiles = ["private/recovery.json", "private/runner.toml"];

/** A mark with characters that every escaping changes. */
export function newCanary(id: string, where: Canary["where"]): Canary {
  return { id, where, text: `mark "${toHex(systemRandom(12))}" <&>` };
}

/** Searches evidence for every mark and the working data for credentials; looks at private modes too. */
export function scanCanaries(space: Workspace, canaries: readonly Canary[]): Canaries {
  const forms = canaries.map((canary) => ({ canary, forms: canaryForms(new TextEncoder().encode(canary.text)) }));
  const scanned: string[] = [];
  const found: Canaries["found"] = [];
  for (const path of filesIn(space.root)) {
    const working = path !== "private/acp-metadata.jsonl" && workingFolders.some((name) => path.startsWith(`${name}/`));
    if (credentialFiles.includes(path)) continue;
    const text = contentOf(join(space.root, path));
    if (text === null) continue;
    scanned.push(path);
    for (const { canary, forms: looked } of forms) {
      if (working && canary.where !== "credential") continue;
      const form = looked.find(([, written]) => text.includes(written))?.[0];
      if (form !== undefined && found.length < 200) found.push({ id: canary.id, file: path, form });
    }
  }
  return {
    planted: canaries.map(({ id, where }) => ({ id, where })),
    scanned,
    not_scanned: workingFolders.map((name) => `${name}/`),
    found,
    wrong_modes: wrongModes(space),
  };
}

function wrongModes(space: Workspace): Canaries["wrong_modes"] {
  const paths = ["", "private", ...readdirSync(space.private).map((name) => `private/${name}`)];
  return paths
    .map((path) => ({ path: path === "" ? "." : path, bits: lstatSync(join(space.root, path)).mode & 0o777 }))
    .filter(({ bits }) => (bits & 0o077) !== 0)
    .map(({ path, bits }) => ({ path, mode: bits.toString(8).padStart(4, "0") }))
    .slice(0, 200);
}

function filesIn(root: string): string[] {
  const files: string[] = [];
  const walk = (relative: string): void => {
    for (const entry of readdirSync(join(root, relative), { withFileTypes: true })) {
      if (files.length >= harnessLimits.scannedFiles) return;
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) files.push(path);
    }
  };
  walk("");
  return files.sort();
}

function contentOf(path: string): string | null {
  try {
    return Buffer.from(readRegularFile(path, { maxBytes: harnessLimits.scannedFileBytes })).toString("latin1");
  } catch {
    return null; // too long or gone: it is not named among the searched files
  }
}
