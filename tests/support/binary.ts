// The compiled executable for tests of what a user types; built once by scripts/test.mjs, else here on first use.
import { existsSync } from "node:fs";

const root = new URL("../..", import.meta.url).pathname;

/** Path of the compiled executable. */
export const proctorBinary: string = process.env.PROCTOR_BINARY ?? buildOnce();

function buildOnce(): string {
  const path = `${root}dist/proctor`;
  if (!existsSync(path)) {
    const built = Bun.spawnSync([process.execPath, "run", "build.ts"], { cwd: root, stderr: "inherit" });
    if (built.exitCode !== 0) throw new Error("the executable could not be built");
  }
  return path;
}

/** The checkout's root, with a slash at its end. */
export const projectRoot = root;
