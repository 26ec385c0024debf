// Stands between an ACP client and its adapter: passes every byte on, in both directions, and notes metadata only.
// It answers nothing itself. It ends with the adapter's own status; its own faults end the adapter and are told apart.

import { constants } from "node:os";
import { DiagnosticCounter } from "../base/diagnostics.ts";
import { codeOf } from "../base/failure.ts";
import { type AdapterOptions, startAdapter } from "./adapter.ts";
import { AuditLog } from "./audit-log.ts";
import type { Carrier, CarrierHooks } from "./carrier.ts";
import { Inspector } from "./inspect.ts";
import { relayLimits } from "./limits.ts";

export interface RelayOptions extends AdapterOptions {
  readonly auditPath: string;
}

export interface RelayEnd {
  /** What the relay's own process should end with. */
  readonly status: number;
  /** The relay's own fault, if it had one. */
  readonly fault: string | null;
}

type Child = Bun.Subprocess;

const ownFaultStatus = 125;
const forwarded = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Runs to the adapter's end on this process's stdin and stdout. */
export async function relay(options: RelayOptions): Promise<RelayEnd> {
  const log = new AuditLog(options.auditPath);
  const adapter = startAdapter(options);
  const stopForwarding = forwardSignals(adapter.process);
  try {
    return await new RelayRun(adapter.process, log).toEnd(adapter.carrier);
  } finally {
    stopForwarding();
    log.close();
  }
}

class RelayRun {
  readonly #adapter: Child;
  readonly #log: AuditLog;
  readonly #inspector = new Inspector();
  readonly #diagnostics = new DiagnosticCounter();
  #fault: string | null = null;

  constructor(adapter: Child, log: AuditLog) {
    this.#adapter = adapter;
    this.#log = log;
  }

  async toEnd(carrier: Carrier): Promise<RelayEnd> {
    const adapter = this.#adapter;
    this.#guarded(() =>
      this.#log.note({
        event: "adapter_process_started",
        pid: adapter.pid,
        relay_pid: process.pid,
        after_bytes: this.#log.afterBytes,
      }),
    );
    const drained = await carrier.carry(this.#hooks());
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

  #hooks(): CarrierHooks {
    return {
      before: (frames, direction) => {
        for (const event of this.#inspector.inspect(frames, direction)) this.#log.note(event);
      },
      laneEnded: (direction, end, fault) => {
        if (end === "unnoted") this.#fail(codeOf(fault));
        if (end !== "frame_limit") return;
        this.#guarded(() => this.#log.note({ event: "frame_limit", direction }));
        this.#fail("relay_frame_limit");
      },
      said: (bytes) => {
        for (const category of this.#diagnostics.push(bytes)) {
          this.#guarded(() => this.#log.note({ event: "diagnostic", category, count: 1 }));
        }
      },
    };
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

function endAdapter(adapter: Child): void {
  adapter.kill("SIGTERM");
  const timer = setTimeout(() => adapter.kill("SIGKILL"), relayLimits.terminateMs);
  void adapter.exited.then(() => clearTimeout(timer));
}

/** Hands our signals on; once the adapter is gone they end the relay, which may be waiting for a slow reader. */
function forwardSignals(adapter: Child): () => void {
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

function signalNumberOf(adapter: Child): number {
  return adapter.signalCode === null ? 0 : constants.signals[adapter.signalCode as NodeJS.Signals];
}

/** As the audit tells it: minus the number of the signal that ended the adapter, else its status. */
function exitCodeOf(adapter: Child): number {
  return adapter.signalCode === null ? (adapter.exitCode ?? 0) : -signalNumberOf(adapter);
}

function statusOf(adapter: Child): number {
  return adapter.signalCode === null ? (adapter.exitCode ?? 0) : 128 + signalNumberOf(adapter);
}
