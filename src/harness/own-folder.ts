// A temporary folder that goes with the process it belongs to: recorded before it is made, removed at the end, and by
// the next command when its owner was killed. What was started in it is recorded too, and ended first.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { toHex } from "../base/bytes.ts";
import type { ProcessId } from "../base/census.ts";
import { systemRandom } from "../base/random.ts";
import { LiveFile, ownId } from "./live-file.ts";

export interface OwnFolder {
  readonly path: string;
  /** A process that works in it. */
  readonly note: (id: ProcessId) => void;
  /** It stays, and is nobody's to remove any more. */
  readonly keep: () => void;
  readonly remove: () => void;
}

/** Makes `<parent>/<prefix>-<12 hex>`, private. */
export function openOwnFolder(stateFolder: string, place: { parent: string; prefix: string }): OwnFolder {
  const path = join(place.parent, `${place.prefix}-${toHex(systemRandom(6))}`);
  const live = new LiveFile(stateFolder, {
    runId: Bun.randomUUIDv7(),
    outputDir: path,
    owners: [ownId()],
    folder: path,
  });
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    live.remove();
    throw error;
  }
  live.noteFolder();
  return {
    path,
    note: (id) => live.note([id]),
    keep: () => live.remove(),
    remove: () => {
      rmSync(path, { recursive: true, force: true });
      live.remove();
    },
  };
}
