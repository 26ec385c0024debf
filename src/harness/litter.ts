// The empty folders that an interrupted Codex sandbox leaves in the temporary folder: looked for before and after a run.
// Removed is only what was made meanwhile and is empty; what was there before is never touched, whatever became of it.
import { lstatSync, rmdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import type { Census } from "../contract/report.ts";

/** Names of the sandbox's mount points. */
export const litterNames = [".git", ".codex", ".agents"] as const;

export class Litter {
  readonly #places: readonly string[];

  /** Takes note of what is there before the run. */
  constructor(folders: readonly string[]) {
    const all = [...new Set(folders)].flatMap((folder) => litterNames.map((name) => join(folder, name)));
    this.#places = all.filter((path) => lookAt(path) === undefined);
  }

  /** Removes and lists what the run left; a folder that is not empty is listed and stays. */
  collect(): Census["litter"] {
    const made = this.#places.filter((path) => lookAt(path)?.isDirectory() === true);
    return made.map((path) => {
      try {
        rmdirSync(path);
        return { path, removed: true };
      } catch {
        return { path, removed: false }; // not empty, or in use: then it is not ours to remove
      }
    });
  }
}

/** Where the temporary folder is no folder, or nobody's to look into, nothing of it can be there. */
function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
