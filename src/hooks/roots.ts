// Paths as the operator means them: canonical spelling, containment after all links are resolved, and the file
// system's own identity of a folder. Nothing here follows a name into a place it does not say.
import { lstatSync, realpathSync, statSync } from "node:fs";
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";

/** Device and inode: what a folder is, whatever its name. */
export type RootIdentity = readonly [bigint, bigint];

const windows = process.platform === "win32";

export function isAbsolutePath(path: string): boolean {
  return windows ? /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path) : path.startsWith("/");
}

/** The resolved path of an existing folder that is spelled by it; `code` is thrown for any other. */
export function canonicalFolder(path: string, code: HooksCode = "canonical_directory_required"): string {
  if (!isAbsolutePath(path) || path.includes("\0")) throw new Failure<HooksCode>(code);
  let real: string;
  try {
    real = realpathSync(path);
    if (!statSync(real).isDirectory()) throw new Failure<HooksCode>(code);
  } catch (error) {
    throw error instanceof Failure ? error : new Failure<HooksCode>(code, { cause: error });
  }
  if (real !== path && !samePath(real, tidy(path))) throw new Failure<HooksCode>(code);
  return real;
}

/** The resolved path of what exists, with what does not exist yet appended. */
export function resolveLoose(path: string): string {
  if (isAbsolutePath(path)) {
    try {
      return realpathSync(path);
    } catch {
      // Some of it does not exist (or may not be looked at): the longest head that does decides.
    }
  }
  return resolveHead(path);
}

function resolveHead(path: string): string {
  const parts = collapse(path);
  for (let kept = parts.length; kept > 0; kept--) {
    try {
      const head = realpathSync(join(parts.slice(0, kept)));
      return join([...(head === "/" ? [""] : head.split("/")), ...parts.slice(kept)].reduce(climb, []));
    } catch {
      // This much does not exist; the shorter head decides.
    }
  }
  return join(parts);
}

/** What does not exist is no link, so `..` in it can be taken by its letters. */
function climb(done: string[], part: string): string[] {
  if (part !== "..") return [...done, part];
  return done.length > 1 ? done.slice(0, -1) : done;
}

/** True when `path` is `root` or below it; both are taken as already resolved. */
export function isInside(path: string, root: string): boolean {
  const base = root.endsWith("/") ? root : `${root}/`;
  return samePath(path, root) || fold(path).startsWith(fold(base));
}

export function samePath(left: string, right: string): boolean {
  return fold(left) === fold(right);
}

/** The identity of a canonical folder. */
export function identityOf(path: string): RootIdentity {
  const found = statSync(canonicalFolder(path), { bigint: true });
  return [found.dev, found.ino];
}

export function sameIdentity(left: RootIdentity, right: RootIdentity): boolean {
  return left[0] === right[0] && left[1] === right[1];
}

/** True when a `.git` of any kind stands in a folder from `from` up to, and not including, `root`. */
export function hasRepositoryBetween(from: string, root: string): boolean {
  for (let folder = from; !samePath(folder, root); folder = parentOf(folder)) {
    if (exists(`${folder}/.git`)) return true;
    if (folder === parentOf(folder)) return false;
  }
  return false;
}

function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    // Not there, or not ours to see; either way it marks no repository of ours.
    return false;
  }
}

function parentOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at <= 0 ? "/" : path.slice(0, at);
}

/** Doubled and trailing slashes and `.` parts taken out; `..` is kept, so that it never equals a resolved path. */
function tidy(path: string): string {
  const parts = path.split(windows ? /[\\/]+/ : "/").filter((part) => part !== "" && part !== ".");
  return windows ? parts.join("\\") : `/${parts.join("/")}`;
}

function collapse(path: string): string[] {
  const kept: string[] = [""];
  for (const part of path.split(windows ? /[\\/]+/ : "/")) {
    if (part === "" || part === ".") continue;
    kept.push(part);
  }
  return kept;
}

function join(parts: readonly string[]): string {
  return parts.length === 1 ? "/" : parts.join("/");
}

function fold(path: string): string {
  return windows ? path.replaceAll("\\", "/").toLowerCase() : path;
}
