// The list of files a report rests on, each with its hash and size.
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { sha256FileHex } from "../base/bytes.ts";
import { type Manifest, manifestCovers } from "../contract/report.ts";

/** Every covered file below the output folder, in order of its path. */
export function manifestOf(root: string): Manifest {
  const files: Manifest["files"] = [];
  const walk = (relative: string): void => {
    for (const entry of readdirSync(join(root, relative), { withFileTypes: true })) {
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) {
        if (manifestCovers(`${path}/x`)) walk(path);
      } else if (entry.isFile() && manifestCovers(path)) {
        const full = join(root, path);
        files.push({ path, sha256: sha256FileHex(full), bytes: lstatSync(full).size });
      }
    }
  };
  walk("");
  return { files: files.sort((left, right) => (left.path < right.path ? -1 : 1)) };
}
