// Ends one process at one named point of the run. The point lies inside the embedded server or runner, which is
// started with a control descriptor, says when it is there, and waits until the process in question is gone.
import { closeSync, readSync, writeSync } from "node:fs";
import { isAlive, listProcesses, type ProcessId, signalExactly } from "../base/census.ts";
import { holdsWithin } from "../base/clock.ts";
import { systemCodeOf } from "../base/failure.ts";
import type { ProcessGroup } from "../base/process-group.ts";
import { type Fault, faultPoints } from "../judge/fault-points.ts";
import { harnessLimits } from "./limits.ts";
import type { Services } from "./run.ts";

export type ServiceName = "webcodex-server" | "webcodex-runner";

export class FaultDriver {
  readonly fault: Fault;
  fired = false;
  readonly #services: Services;
  #armed = false;
  #recovered = false;
  #control: number | null = null;

  constructor(fault: Fault, services: Services) {
    this.fault = fault;
    this.#services = services;
  }

  /** The environment that makes this service pause; null when the point is not in it, or was armed before. */
  arm(name: ServiceName): Record<string, string> | null {
    const { point, target } = this.fault;
    const owner = faultPoints.indexOf(point) < 3 ? "webcodex-server" : "webcodex-runner";
    if (this.#armed || owner !== name || target === "consumer") return null;
    this.#armed = true;
    return { PROCTOR_PAUSE_AT: point, PROCTOR_CONTROL_FD: "3" };
  }

  /** Waits for the service's word on its control descriptor. */
  watch(control: number): void {
    this.#control = control;
    const word = Buffer.alloc(64);
    const timer = setInterval(() => {
      try {
        const said = readSync(control, word) > 0;
        clearInterval(timer);
        if (said) void this.#fire();
      } catch (error) {
        // The descriptor does not block: nothing was said yet. Any other fault means that nothing will be.
        if (systemCodeOf(error) !== "EAGAIN") clearInterval(timer);
      }
    }, harnessLimits.faultPollMs);
    timer.unref();
  }

  /** The consumer is ended in its own turn. */
  endConsumer(group: ProcessGroup): void {
    if (this.fault.target !== "consumer") return;
    this.fired = true;
    group.signalLeader(this.fault.signal);
  }

  /** True once, when the server that did not answer is the one this fault ended: it has to be started again. */
  async serverHasToComeBack(): Promise<boolean> {
    if (this.fault.target !== "server" || !this.fired || this.#recovered) return false;
    this.#recovered = true;
    const { server } = this.#services;
    return await holdsWithin(() => server?.running() !== true, { withinMs: harnessLimits.faultMs, everyMs: 10 });
  }

  async #fire(): Promise<void> {
    const { target, signal } = this.fault;
    const { server, runner } = this.#services;
    if (target === "server" || target === "runner") {
      const group = target === "server" ? server : runner;
      this.fired = group !== null;
      group?.signalLeader(signal);
      // What was asked to end by itself needs its work to go on for that.
      if (signal === "SIGINT") this.#resume();
      await holdsWithin(() => group?.running() !== true, { withinMs: harnessLimits.faultMs, everyMs: 10 });
      this.#resume();
      return;
    }
    // Before the start there is no adapter yet: it is ended at first sight then.
    let adapter = this.#adapter();
    if (adapter === null) this.#resume();
    const seen = (): boolean => {
      adapter = adapter ?? this.#adapter();
      return adapter !== null;
    };
    await holdsWithin(seen, { withinMs: harnessLimits.faultMs, everyMs: 5 });
    if (adapter !== null) {
      const id: ProcessId = adapter;
      this.fired = signalExactly(id, signal) === "signalled";
      await holdsWithin(() => !isAlive(id), { withinMs: harnessLimits.faultMs, everyMs: 5 });
    }
    this.#resume();
  }

  /** The relay's child: the relay itself is what the runner started. */
  #adapter(): ProcessId | null {
    const runner = this.#services.runner?.pid;
    const rows = listProcesses();
    const relays = new Set(rows.filter((row) => row.ppid === runner).map((row) => row.pid));
    return rows.find((row) => relays.has(row.ppid) && row.state !== "Z") ?? null;
  }

  #resume(): void {
    if (this.#control === null) return;
    const control = this.#control;
    this.#control = null;
    try {
      writeSync(control, "g");
    } catch {
      // The paused process was the one that was ended; nobody is left to go on.
    }
    closeSync(control);
  }
}
