// Carries on the runtime's own streams, where there is no poll(2) to be had. The same frames, limits and ends as on
// descriptors; each piece costs turns of the event loop.

import type { Carrier, CarrierHooks } from "./carrier.ts";
import { FrameBuffer } from "./frame-buffer.ts";
import type { Direction } from "./inspect.ts";
import type { LaneEnd } from "./lane.ts";
import { relayLimits } from "./limits.ts";

type StreamAdapter = Bun.Subprocess<"pipe", "pipe", "pipe">;

export class StreamCarrier implements Carrier {
  readonly #adapter: StreamAdapter;

  constructor(adapter: StreamAdapter) {
    this.#adapter = adapter;
  }

  async carry(hooks: CarrierHooks): Promise<boolean> {
    const adapter = this.#adapter;
    const stderr = drain(adapter.stderr, hooks);
    const input = new StreamLane("request", hooks);
    const output = new StreamLane("response", hooks);
    void input.run(Bun.stdin.stream(), adapter.stdin).then(() => closeInput(adapter));
    const sink = Bun.stdout.writer({ highWaterMark: 65_536 });
    const ended = output.run(adapter.stdout, sink);
    await adapter.exited;
    await quietEnd(output, ended);
    return await Promise.race([stderr, Bun.sleep(relayLimits.stderrDrainMs).then(() => false)]);
  }
}

/** One direction. `readingSinceMs` tells since when it has been waiting for its source. */
class StreamLane {
  readonly #direction: Direction;
  readonly #hooks: CarrierHooks;
  readonly #frames: FrameBuffer;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #readingSinceMs: number | null = null;

  constructor(direction: Direction, hooks: CarrierHooks) {
    this.#direction = direction;
    this.#hooks = hooks;
    this.#frames = new FrameBuffer((frames) => hooks.before(frames, direction));
  }

  async run(source: ReadableStream<Uint8Array>, sink: Bun.FileSink): Promise<void> {
    this.#reader = source.getReader();
    let end: LaneEnd;
    let fault: unknown = null;
    try {
      end = await this.#pass(this.#reader, sink);
    } catch (error) {
      // What cannot be noted must not be passed on.
      [end, fault] = ["unnoted", error];
    }
    if (end !== "ended") this.stop();
    this.#hooks.laneEnded(this.#direction, end, fault);
  }

  /** Whether the source has said nothing for this long, with everything it said passed on. */
  quietFor(ms: number): boolean {
    return this.#readingSinceMs !== null && performance.now() - this.#readingSinceMs >= ms;
  }

  /** Ends the source's pipe, so that whoever writes there learns of it. */
  stop(): void {
    void this.#reader?.cancel().catch(() => undefined);
  }

  async #pass(reader: ReadableStreamDefaultReader<Uint8Array>, sink: Bun.FileSink): Promise<LaneEnd> {
    const frames = this.#frames;
    for (;;) {
      this.#readingSinceMs = performance.now();
      // A source that breaks has ended.
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }) as const);
      this.#readingSinceMs = null;
      if (done || value === undefined) {
        frames.ended();
        return (await this.#send(sink)) ? "ended" : "reader_gone";
      }
      for (let from = 0; from < value.byteLength; ) {
        const part = value.subarray(from, from + frames.room);
        from += part.byteLength;
        frames.bytes.set(part, frames.end);
        const fits = frames.filled(part.byteLength);
        if (!(await this.#send(sink))) return "reader_gone";
        if (!fits) return "frame_limit";
      }
    }
  }

  async #send(sink: Bun.FileSink): Promise<boolean> {
    const { bytes, passed, unpassed } = this.#frames;
    if (unpassed === 0) return true;
    try {
      // Either call may be the one that meets the closed pipe, now or later.
      await sink.write(bytes.subarray(passed, passed + unpassed));
      await sink.flush();
    } catch {
      // Closed by the other side; this direction is over and the other one goes on.
      return false;
    }
    this.#frames.went(unpassed);
    return true;
  }
}

async function closeInput(adapter: StreamAdapter): Promise<void> {
  try {
    // The client's end of input becomes the adapter's, while its output goes on.
    await adapter.stdin.end();
  } catch {
    // The adapter has closed it already.
  }
}

async function drain(stderr: ReadableStream<Uint8Array>, hooks: CarrierHooks): Promise<boolean> {
  const reader = stderr.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }) as const);
    if (done || value === undefined) return true;
    hooks.said(value);
  }
}

/** Waits for the output's end; a pipe that a grandchild keeps is given up once it has been silent. */
async function quietEnd(output: StreamLane, ended: Promise<void>): Promise<void> {
  let over = false;
  const noted = ended.then(() => {
    over = true;
  });
  while (!over) {
    await Promise.race([noted, Bun.sleep(100)]);
    if (output.quietFor(relayLimits.quietPipeMs)) return output.stop();
  }
}
