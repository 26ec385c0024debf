// The front process of a run: parent and child-subreaper of all it starts. When the worker dies, every descendant is
// ended; when this process dies, the worker sees the end of its input, ends everything and exits.
import { descendantsOf } from "../base/census.ts";
import { becomeSubreaper } from "../base/subreaper.ts";
import { endProcesses, ownId } from "./live-file.ts";

export interface WorkerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string | undefined>;
  readonly cwd: string;
}

export interface WorkerEnd {
  /** Null when a signal ended the worker before it could finish its report. */
  readonly code: number | null;
  /** Processes the worker left and this one ended. */
  readonly ended: number;
}

/** Runs the worker to its end; nothing it started outlives this call. */
export async function runUnderDeadman(worker: WorkerCommand): Promise<WorkerEnd> {
  becomeSubreaper();
  const child = Bun.spawn([worker.command, ...worker.args], {
    cwd: worker.cwd,
    env: worker.env,
    stdin: "pipe",
    stdout: "inherit",
    stderr: "inherit",
  });
  introduce(child.stdin);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const forward = signals.map((signal) => [signal, () => child.kill(signal)] as const);
  for (const [signal, pass] of forward) process.on(signal, pass);
  try {
    await child.exited;
    const { ended } = await endProcesses(() => descendantsOf([process.pid]));
    return { code: child.signalCode === null ? child.exitCode : null, ended };
  } finally {
    for (const [signal, pass] of forward) process.off(signal, pass);
  }
}

/** The worker learns who owns it from here: its parent's number may already be another one's when it looks. */
function introduce(input: Bun.FileSink): void {
  const { pid, startTicks } = ownId();
  try {
    input.write(`${pid} ${startTicks}\n`);
    input.flush();
  } catch {
    // A worker that ended at once cannot listen; its end is what counts.
  }
}
