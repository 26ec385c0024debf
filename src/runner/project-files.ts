// The projects a runner offers, and the only way to their files: a real path inside the project's real root, no
// sensitive name, bounded. A refusal is a reason code, never a path outside or a system message.
import { closeSync, constants, fstatSync, mkdirSync, openSync, readdirSync, readSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { decodeUtf8, sha256Hex, utf8 } from "../base/bytes.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { readRegularFile, replacePrivateFile } from "../base/private-files.ts";
import { z } from "../contract/schema.ts";
import type { RunnerCode } from "./codes.ts";
import type { RunnerConfig } from "./config-file.ts";
import { runnerLimits } from "./limits.ts";

const Record_ = z.object({
  id: z.string().regex(/^[A-Za-z0-9._-]{1,128}$/),
  path: z.string().startsWith("/").max(4096),
  name: z.string().max(256).optional(),
  description: z.string().max(2048).optional(),
  allow_patch: z.boolean().default(true),
  disabled: z.boolean().default(false),
});

export type RegisteredProject = z.infer<typeof Record_> & { readonly root: string };

/** Reads every record of the registry; one that is malformed or outside the allowed roots is left out. */
export function readProjects(config: RunnerConfig): RegisteredProject[] {
  let names: string[];
  try {
    names = readdirSync(config.projectFolder).filter((one) => one.endsWith(".toml"));
  } catch (cause) {
    throw new Failure<RunnerCode>("runner_registry_unreadable", { cause });
  }
  const found = new Map<string, RegisteredProject>();
  for (const name of names.sort().slice(0, runnerLimits.maxProjects)) {
    const project = readProject(join(config.projectFolder, name), config);
    if (project !== null && !found.has(project.id)) found.set(project.id, project);
  }
  return [...found.values()];
}

function readProject(path: string, config: RunnerConfig): RegisteredProject | null {
  try {
    const text = decodeUtf8(readRegularFile(path, { maxBytes: runnerLimits.maxProjectFileBytes }));
    const parsed = Record_.safeParse(Bun.TOML.parse(text ?? ""));
    if (!parsed.success) return null;
    const root = realpathSync(parsed.data.path);
    if (config.allowedRoots !== null && !config.allowedRoots.some((one) => within(realpathSync(one), root)))
      return null;
    return { ...parsed.data, root };
  } catch {
    return null; // A record that cannot be read offers no project; the others are not its victims.
  }
}

function within(root: string, path: string): boolean {
  return path === root || path.startsWith(root === "/" ? "/" : `${root}/`);
}

const sensitive =
  /^(?:\.env(?:\..*)?|\.git|\.ssh|\.gnupg|\.aws|\.netrc|\.npmrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)|auth\.json|.*\.(?:pem|key|p12|pfx))$/i;

export type FileAnswer =
  | { readonly file: Readonly<Record<string, unknown>> }
  | { readonly reason_code: string; readonly sha256?: string | null };

type Place = { readonly path: string } | { readonly reason: string };

/** Where a project path really is; the parts that exist are resolved before they are believed. */
function place(root: string, path: string): Place {
  const parts = path.split("/");
  if (path === "" || path.startsWith("/") || path.includes("\0") || path.includes("\\"))
    return { reason: "invalid_path" };
  if (parts.some((part) => part === "" || part === "." || part === "..")) return { reason: "invalid_path" };
  if (parts.some((part) => sensitive.test(part))) return { reason: "sensitive_path" };
  return { path: join(root, ...parts) };
}

function reasonOf(error: unknown): string {
  const code = systemCodeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") return "not_found";
  if (code === "EACCES" || code === "EPERM") return "permission_denied";
  if (code === "ELOOP") return "invalid_path";
  return "io_error";
}

/** `file_read`: a range of lines, byte-true, with the whole file's digest. */
export function readProjectFile(
  project: RegisteredProject,
  range: { readonly path: string; readonly startLine: number; readonly limit: number },
): FileAnswer {
  const at = place(project.root, range.path);
  if ("reason" in at) return { reason_code: at.reason };
  try {
    const real = realpathSync(at.path);
    if (!within(project.root, real)) return { reason_code: "invalid_path" };
    if (
      real
        .slice(project.root.length + 1)
        .split("/")
        .some((part) => sensitive.test(part))
    )
      return { reason_code: "sensitive_path" };
    const bytes = readBounded(real);
    if (typeof bytes === "string") return { reason_code: bytes };
    const text = decodeUtf8(bytes);
    if (text === null) return { reason_code: "invalid_utf8" };
    const lines = text.split(/(?<=\n)/);
    const total = text === "" ? 0 : lines.length;
    const from = Math.max(range.startLine, 1) - 1;
    const count = Math.min(Math.max(range.limit, 1), runnerLimits.maxReadLines);
    const part = lines.slice(from, from + count).join("");
    if (utf8(part).length > runnerLimits.maxReadRangeBytes) return { reason_code: "range_too_large" };
    return { file: { text: part, sha256: sha256Hex(bytes), total_lines: total, start_line: from + 1, limit: count } };
  } catch (error) {
    return { reason_code: reasonOf(error) };
  }
}

function readBounded(path: string): Uint8Array | string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const facts = fstatSync(fd);
    if (!facts.isFile()) return "not_file";
    if (facts.size > runnerLimits.maxReadFileBytes) return "range_too_large";
    const bytes = new Uint8Array(facts.size);
    let filled = 0;
    while (filled < bytes.length) {
      const got = readSync(fd, bytes, filled, bytes.length - filled, null);
      if (got === 0) break;
      filled += got;
    }
    return bytes.subarray(0, filled);
  } finally {
    closeSync(fd);
  }
}

/** `file_write`: only where the file still has the digest the caller saw, or is still absent (`expected` null). */
export function writeProjectFile(
  project: RegisteredProject,
  change: { readonly path: string; readonly text: string; readonly expected: string | null },
): FileAnswer {
  const at = place(project.root, change.path);
  if ("reason" in at) return { reason_code: at.reason };
  if (!project.allow_patch || project.disabled) return { reason_code: "permission_denied" };
  if (utf8(change.text).length > runnerLimits.maxWriteBytes) return { reason_code: "range_too_large" };
  try {
    const folder = ensureFolder(project.root, dirname(at.path));
    if (folder === null) return { reason_code: "invalid_path" };
    const path = join(folder, basename(at.path));
    const now = currentDigest(path);
    if (now !== change.expected) return { reason_code: "conflict", sha256: now };
    replacePrivateFile(path, change.text, { reserved: ".proctor-" });
    return { file: { sha256: sha256Hex(change.text), path: change.path } };
  } catch (error) {
    return { reason_code: reasonOf(error) };
  }
}

function currentDigest(path: string): string | null {
  try {
    const bytes = readBounded(path);
    return typeof bytes === "string" ? bytes : sha256Hex(bytes);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Makes missing folders one by one, so that no link on the way can lead outside. */
function ensureFolder(root: string, folder: string): string | null {
  let real = root;
  for (const part of folder.slice(root.length).split("/").filter(Boolean)) {
    const next = join(real, part);
    try {
      mkdirSync(next, { mode: 0o755 });
    } catch (error) {
      if (systemCodeOf(error) !== "EEXIST") throw error;
    }
    real = realpathSync(next);
    if (!within(root, real)) return null;
  }
  return real;
}
