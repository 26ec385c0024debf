// A folder of the test's own, 0700, removed with all that is in it when the test leaves its scope.
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempFolder extends AsyncDisposable {
  /** Absolute and free of links. */
  readonly path: string;
}

export async function tempFolder(prefix = "proctor-test-"): Promise<TempFolder> {
  const path = mkdtempSync(join(realpathSync(tmpdir()), prefix));
  return {
    path,
    async [Symbol.asyncDispose]() {
      rmSync(path, { recursive: true, force: true });
    },
  };
}
