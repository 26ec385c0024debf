// The front process of a run: parent and child-subreaper of all it starts. When the worker dies, every descendant is
// ended; when this process dies, the worker sees the end of its input, cleans up and exits.
import { descendantsOf } from "../base/census.ts";
import { becomeSubreaper } from "../base/subreaper.ts";
import { endProcesses } from "./live-file.ts";

export interface WorkerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string | undefined>;
  readonly cwd: string;
}

/** Runs the worker to its end and passes its status on; nothing it started outlives this call. */
export async function runUnderDeadman(worker: WorkerCommand): Promise<number> {
  becomeSubreaper();
  const child = Bun.spawn([worker.command, ...worker.args], {
    cwd: worker.cwd,
    env: worker.env,
    stdin: "pipe",
    stdout: "inherit",
    stderr: "inherit",
  });
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const forward = signals.map((signal) => [signal, () => child.kill(signal)] as const);
  for (const [signal, pass] of forward) process.on(signal, pass);
  try {
    const code = await child.exited;
    const left = descendantsOf([process.pid]).filter((row) => row.state !== "Z");
    if (left.length > 0) await endProcesses(left);
    return code;
  } finally {
    for (const [signal, pass] of forward) process.off(signal, pass);
  }
}
