// Runs the compiled executable as a person would, with an environment of the test's own, and keeps what it said.
import { proctorBinary } from "./binary.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly stdin?: "ignore" | number | Uint8Array;
}

/** One run to its end. Without options it has a home that even root cannot make, an ordinary PATH and nothing on stdin. */
export async function runBinary(words: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = Bun.spawn([proctorBinary, ...words], {
    cwd: options.cwd ?? "/",
    // Large pages: a short run is mostly its start, and the suite has many.
    env: { PATH: "/usr/bin:/bin", HOME: "/proc/nonexistent", MIMALLOC_ALLOW_THP: "1", ...options.env },
    stdin: options.stdin ?? "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}
