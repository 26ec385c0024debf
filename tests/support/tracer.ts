// The system-call tracer of the host, where it is there and allowed to trace; null where not, and its tests skip.

/** Path of a working `strace`. */
export const tracer: string | null = workingTracer();

function workingTracer(): string | null {
  const found = Bun.which("strace");
  if (found === null) return null;
  const tried = Bun.spawnSync([found, "-f", "-o", "/dev/null", "--", "/bin/true"], { stderr: "ignore" });
  return tried.exitCode === 0 ? found : null;
}
