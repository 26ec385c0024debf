// Carries both directions and stderr in one loop over poll(2), on descriptors: a frame costs one wait, one read and
// one write, and nothing is allocated for it. The runtime gets a turn when nothing happens, when a signal comes, and
// now and then under load, because only there signals, timers and the adapter's end reach us.

import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { addressOf, type Descriptors, pollFlags, type Sink, Watch, type Window } from "../base/descriptors.ts";
import { closePidfd, openPidfd } from "../base/pidfd.ts";
import type { Carrier, CarrierHooks } from "./carrier.ts";
import type { Direction } from "./inspect.ts";
import { Lane } from "./lane.ts";
import { relayLimits } from "./limits.ts";

/** The relay's ends of the adapter's three pipes. */
interface AdapterEnds {
  readonly stdin: Sink;
  readonly stdout: number;
  readonly stderr: number;
}

interface PollCarrierOptions {
  readonly ends: AdapterEnds;
  readonly clientOutput: Sink;
  readonly adapter: { readonly pid: number; readonly exited: Promise<unknown> };
}

const clientInput = 0;
const stderrBytes = 65_536;
const slots = { inputFrom: 0, inputTo: 1, outputFrom: 2, outputTo: 3, stderr: 4, adapter: 5 } as const;

export class PollCarrier implements Carrier {
  readonly #kernel: Descriptors;
  readonly #options: PollCarrierOptions;
  readonly #watch = new Watch(Object.keys(slots).length);
  readonly #stderr = Buffer.allocUnsafeSlow(stderrBytes);
  readonly #stderrWindow: Window;
  #stderrOpen = true;
  #adapterFd: number | null;
  #exitedAtMs: number | null = null;
  #outputAtMs = 0;

  constructor(kernel: Descriptors, options: PollCarrierOptions) {
    this.#kernel = kernel;
    this.#options = options;
    this.#stderrWindow = { at: addressOf(this.#stderr) as Window["at"], bytes: stderrBytes };
    this.#adapterFd = openPidfd(options.adapter.pid);
    void options.adapter.exited.then(() => {
      this.#exitedAtMs = performance.now();
      if (this.#adapterFd !== null) closePidfd(this.#adapterFd);
      this.#adapterFd = null;
    });
  }

  async carry(hooks: CarrierHooks): Promise<boolean> {
    const { ends, clientOutput } = this.#options;
    const lane = (direction: Direction, source: number, sink: Sink): OpenLane =>
      new OpenLane(
        new Lane(this.#kernel, { source, sink, before: (frames) => hooks.before(frames, direction) }),
        direction,
      );
    const input = lane("request", clientInput, ends.stdin);
    const output = lane("response", ends.stdout, clientOutput);
    let outputOverAtMs: number | null = null;
    let turnAtMs = performance.now();
    for (;;) {
      this.#ask(input.lane, output.lane);
      const answered = this.#kernel.wait(this.#watch, this.#exitedAtMs === null ? relayLimits.lookUpMs : 20);
      const nowMs = performance.now();
      if (answered > 0) this.#serve(input.lane, output.lane, hooks);
      input.settle(hooks);
      output.settle(hooks);
      if (this.#exitedAtMs !== null) {
        if (this.#silent(output.lane, nowMs)) output.lane.finish();
        if (output.lane.over) outputOverAtMs ??= nowMs;
        if (outputOverAtMs !== null) {
          if (!this.#stderrOpen) return true;
          if (nowMs - outputOverAtMs >= relayLimits.stderrDrainMs) return false;
        }
      }
      const adapterEnds = this.#exitedAtMs === null && this.#watch.answer(slots.adapter) !== 0;
      if (answered <= 0 || adapterEnds || nowMs - turnAtMs >= relayLimits.busyMs) {
        await runtimesTurn();
        turnAtMs = performance.now();
      }
    }
  }

  #ask(input: Lane, output: Lane): void {
    const { readable, writable } = pollFlags;
    const watch = this.#watch;
    watch.ask(slots.inputFrom, input.reads ? input.source : null, readable);
    watch.ask(slots.inputTo, input.writes ? input.sink.fd : null, writable);
    watch.ask(slots.outputFrom, output.reads ? output.source : null, readable);
    watch.ask(slots.outputTo, output.writes ? output.sink.fd : null, writable);
    watch.ask(slots.stderr, this.#stderrOpen ? this.#options.ends.stderr : null, readable);
    watch.ask(slots.adapter, this.#adapterFd, readable);
  }

  #serve(input: Lane, output: Lane, hooks: CarrierHooks): void {
    const watch = this.#watch;
    const answers = {
      inputFrom: watch.answer(slots.inputFrom),
      inputTo: watch.answer(slots.inputTo),
      outputFrom: watch.answer(slots.outputFrom),
      outputTo: watch.answer(slots.outputTo),
    };
    if (answers.outputTo !== 0) output.write(answers.outputTo);
    if (answers.inputTo !== 0) input.write(answers.inputTo);
    if (answers.outputFrom !== 0) {
      output.read(answers.outputFrom);
      this.#outputAtMs = performance.now();
    }
    if (answers.inputFrom !== 0) input.read(answers.inputFrom);
    if (watch.answer(slots.stderr) !== 0) this.#drain(hooks);
  }

  #drain(hooks: CarrierHooks): void {
    const { stderr } = this.#options.ends;
    const count = this.#kernel.read(stderr, this.#stderrWindow);
    if (count > 0) hooks.said(this.#stderr.subarray(0, count));
    else {
      this.#stderrOpen = false;
      closeSync(stderr);
    }
  }

  /** Whether the adapter is gone and whoever else holds its output has said nothing for long. */
  #silent(output: Lane, nowMs: number): boolean {
    const sinceMs = Math.max(this.#exitedAtMs ?? nowMs, this.#outputAtMs);
    return output.end === null && !output.writes && nowMs - sinceMs >= relayLimits.quietPipeMs;
  }
}

/** A lane, and what has to be closed and told once it ends. */
class OpenLane {
  readonly lane: Lane;
  readonly #direction: Direction;
  #sourceOpen = true;
  #sinkOpen = true;

  constructor(lane: Lane, direction: Direction) {
    this.lane = lane;
    this.#direction = direction;
  }

  settle(hooks: CarrierHooks): void {
    const { lane } = this;
    if (lane.end !== null && this.#sourceOpen) {
      this.#sourceOpen = false;
      // Whoever still writes there learns that nobody reads.
      closeSync(lane.source);
      // The number of our own stdin must not become another file's.
      if (lane.source === clientInput) openSync("/dev/null", constants.O_RDONLY);
      hooks.laneEnded(this.#direction, lane.end, lane.fault);
    }
    if (lane.over && this.#sinkOpen) {
      this.#sinkOpen = false;
      // The client's end of input becomes the adapter's, while its output goes on.
      if (this.#direction === "request") closeSync(lane.sink.fd);
    }
  }
}

/** Our stdout as a sink that never blocks; null when it cannot be had without changing it for others. */
export function clientOutputSink(): Sink | null {
  try {
    const stat = fstatSync(1);
    if (stat.isSocket()) return { fd: 1, isSocket: true };
    // A file never blocks, and opened again it would be written from its start.
    if (stat.isFile()) return { fd: 1, isSocket: false };
    return { fd: reopened(1), isSocket: false };
  } catch {
    // Closed, or another user's: the other carrier takes it as it is.
    return null;
  }
}

/** A descriptor of our own for a pipe that we may write to, which does not block. */
export function reopened(fd: number): number {
  return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
}

/** Lets signals, timers and the end of a child reach us. */
async function runtimesTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
