// Stands between an ACP client and its adapter: passes every byte on, in both directions, and notes metadata only.
// It answers nothing itself. It ends with the adapter's own status; its own faults end the adapter and are told apart.

import { constants } from "node:os";
import { DiagnosticCounter } from "../base/diagnostics.ts";
import type { Environment } from "../base/environment.ts";
import { codeOf } from "../base/failure.ts";
import { type Adapter, startAdapter } from "./adapter.ts";
import { AuditLog } from "./audit-log.ts";
import { type Direction, Inspector } from "./inspect.ts";
import { relayLimits } from "./limits.ts";
import { Pump } from "./pump.ts";

export interface RelayOptions {
  readonly auditPath: string;
  /** The adapter's program and its arguments. */
  readonly command: readonly string[];
  readonly environment: Environment;
  readonly cwd: string;
}

export interface RelayEnd {
  /** What the relay's own process should end with. */
  readonly status: number;
  /** The relay's own fault, if it had one. */
  readonly fault: string | null;
}

const ownFaultStatus = 125;
const forwarded = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Runs to the adapter's end on this process's stdin and stdout. */
export async function relay(options: RelayOptions): Promise<RelayEnd> {
  const log = new AuditLog(options.auditPath);
  const adapter = startAdapter(options);
  const stopForwarding = forwardSignals(adapter);
  const run = new RelayRun(adapter, log);
  try {
    return await run.toEnd();
  } finally {
    stopForwarding();
    log.close();
  }
}

class RelayRun {
  readonly #adapter: Adapter;
  readonly #log: AuditLog;
  readonly #inspector = new Inspector();
  readonly #diagnostics = new DiagnosticCounter();
  readonly #toAdapter = new Pump();
  readonly #toClient = new Pump();
  #fault: string | null = null;

  constructor(adapter: Adapter, log: AuditLog) {
    this.#adapter = adapter;
    this.#log = log;
  }

  async toEnd(): Promise<RelayEnd> {
    const adapter = this.#adapter;
    this.#guarded(() =>
      this.#log.note({
        event: "adapter_process_started",
        pid: adapter.pid,
        relay_pid: process.pid,
        after_bytes: this.#log.afterBytes,
      }),
    );
    const stderr = this.#drainStderr();
    void this.#passInput();
    const output = this.#passOutput();
    await adapter.exited;
    await this.#quietEnd(output);
    const drained = await Promise.race([stderr, Bun.sleep(relayLimits.stderrDrainMs).then(() => false)]);
    this.#guarded(() =>
      this.#log.note({
        event: "adapter_process_exited",
        exit_code: exitCodeOf(adapter),
        stderr_drained: drained,
        stderr_bytes: this.#diagnostics.bytesSeen,
        diagnostics: this.#diagnostics.counts(),
      }),
    );
    return { status: this.#fault === null ? statusOf(adapter) : ownFaultStatus, fault: this.#fault };
  }

  async #passInput(): Promise<void> {
    await this.#pass(this.#toAdapter, "request", { source: Bun.stdin.stream(), sink: this.#adapter.stdin });
    try {
      // The client's end of input becomes the adapter's, while its output goes on.
      await this.#adapter.stdin.end();
    } catch {
      // The adapter has closed it already.
    }
  }

  async #passOutput(): Promise<void> {
    const sink = Bun.stdout.writer({ highWaterMark: 65_536 });
    await this.#pass(this.#toClient, "response", { source: this.#adapter.stdout, sink });
  }

  async #pass(
    pump: Pump,
    direction: Direction,
    ends: { readonly source: ReadableStream<Uint8Array>; readonly sink: Bun.FileSink },
  ): Promise<void> {
    const before = (frames: Buffer): void => {
      for (const event of this.#inspector.inspect(frames, direction)) this.#log.note(event);
    };
    try {
      const end = await pump.run(ends.source, ends.sink, { before });
      if (end !== "frame_limit") return;
      this.#log.note({ event: "frame_limit", direction });
      this.#fail("relay_frame_limit");
    } catch (error) {
      // What cannot be noted must not be passed on, so the whole relay ends here.
      pump.stop();
      this.#fail(codeOf(error));
    }
  }

  async #drainStderr(): Promise<boolean> {
    const reader = this.#adapter.stderr.getReader();
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }) as const);
      if (done || value === undefined) return true;
      for (const category of this.#diagnostics.push(value)) {
        this.#guarded(() => this.#log.note({ event: "diagnostic", category, count: 1 }));
      }
    }
  }

  /** Waits for the output's end; a pipe that a grandchild keeps is given up once it has been silent. */
  async #quietEnd(output: Promise<void>): Promise<void> {
    let over = false;
    const ended = output.then(() => {
      over = true;
    });
    while (!over) {
      await Promise.race([ended, Bun.sleep(100)]);
      if (this.#toClient.quietFor(relayLimits.quietPipeMs)) return this.#toClient.stop();
    }
  }

  #guarded(note: () => void): void {
    try {
      note();
    } catch (error) {
      this.#fail(codeOf(error));
    }
  }

  #fail(code: string): void {
    if (this.#fault !== null) return;
    this.#fault = code;
    endAdapter(this.#adapter);
  }
}

function endAdapter(adapter: Adapter): void {
  adapter.kill("SIGTERM");
  const timer = setTimeout(() => adapter.kill("SIGKILL"), relayLimits.terminateMs);
  void adapter.exited.then(() => clearTimeout(timer));
}

/** Hands our signals on; once the adapter is gone they end the relay, which may be waiting for a slow reader. */
function forwardSignals(adapter: Adapter): () => void {
  const stops = forwarded.map((signal) => {
    const forward = (): void => {
      if (adapter.exitCode === null && adapter.signalCode === null) adapter.kill(signal);
      else process.exit(128 + constants.signals[signal]);
    };
    process.on(signal, forward);
    return () => process.off(signal, forward);
  });
  return () => {
    for (const stop of stops) stop();
  };
}

function signalNumberOf(adapter: Adapter): number {
  return adapter.signalCode === null ? 0 : constants.signals[adapter.signalCode as NodeJS.Signals];
}

/** As the audit tells it: minus the number of the signal that ended the adapter, else its status. */
function exitCodeOf(adapter: Adapter): number {
  return adapter.signalCode === null ? (adapter.exitCode ?? 0) : -signalNumberOf(adapter);
}

function statusOf(adapter: Adapter): number {
  return adapter.signalCode === null ? (adapter.exitCode ?? 0) : 128 + signalNumberOf(adapter);
}
