// One agent process and the JSON lines between us. Both directions are bounded, frames are handled strictly in the
// order they came, whatever kind of id a request has is answered with, and the end is told once with its cause.
import { utf8 } from "../base/bytes.ts";
import { systemClock } from "../base/clock.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { LineSplitter } from "../base/lines.ts";
import type { ProcessGroup } from "../base/process-group.ts";
import { runnerLimits } from "./limits.ts";

export type Answer = { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly message: string };

export interface AcpHandlers {
  notification(method: string, params: unknown): void;
  request(id: unknown, method: string, params: unknown): void;
  lost(code: "coding_agent_process_exited" | "coding_agent_transport_lost"): void;
}

/** Lines before or between frames that are no JSON object at all: a greeting of a wrapper, borne up to this many. */
const maxNoiseLines = 64;

export class AcpClient {
  readonly #group: ProcessGroup;
  readonly #handlers: AcpHandlers;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #nextId = 1;
  #writes: Promise<boolean> = Promise.resolve(true);
  #over = false;
  #noise = 0;

  constructor(group: ProcessGroup, handlers: AcpHandlers) {
    this.#group = group;
    this.#handlers = handlers;
    void this.#read();
  }

  /** Sends a request; `answered` is called in wire order. True once the whole frame went into the pipe. */
  request(method: string, params: unknown, answered: (answer: Answer) => void): Promise<boolean> {
    const id = this.#nextId++;
    this.#waiting.set(id, answered);
    return this.#write({ jsonrpc: "2.0", id, method, params });
  }

  notify(method: string, params: unknown): Promise<boolean> {
    return this.#write({ jsonrpc: "2.0", method, params });
  }

  respond(id: unknown, body: { readonly result: unknown } | { readonly error: unknown }): Promise<boolean> {
    return this.#write({ jsonrpc: "2.0", id: id ?? null, ...body });
  }

  /** Says nothing more and closes the agent's stdin. */
  async end(): Promise<void> {
    this.#over = true;
    try {
      await this.#group.stdin?.end();
    } catch {
      // The agent has gone already; there is nothing left to close.
    }
  }

  #write(message: object): Promise<boolean> {
    const bytes = utf8(`${JSON.stringify(message)}\n`);
    if (bytes.length > runnerLimits.maxFrameBytes || this.#over) return Promise.resolve(false);
    this.#writes = this.#writes.then(async () => {
      try {
        this.#group.stdin?.write(bytes);
        await this.#group.stdin?.flush();
        return !this.#over;
      } catch {
        return false; // A broken pipe; the reading side tells why.
      }
    });
    return this.#writes;
  }

  async #read(): Promise<void> {
    const splitter = new LineSplitter({ maxLineBytes: runnerLimits.maxFrameBytes });
    const reader = this.#group.stdout!.getReader();
    // A grandchild that keeps the pipe open must not hide that the agent has ended.
    const ended = this.#group.exited.then(() => systemClock.sleep(500)).then(() => ({ done: true, value: undefined }));
    try {
      for (;;) {
        const { done, value } = await Promise.race([reader.read(), ended]);
        if (done || value === undefined) break;
        for (const line of splitter.push(value))
          if (!this.#take(line)) return this.#lose("coding_agent_transport_lost");
      }
      const rest = splitter.rest();
      if (rest !== null) this.#take(rest);
    } catch {
      return this.#lose("coding_agent_transport_lost"); // A line over the limit, or a pipe that failed.
    }
    const gone = await Promise.race([this.#group.exited.then(() => true), systemClock.sleep(300).then(() => false)]);
    this.#lose(gone ? "coding_agent_process_exited" : "coding_agent_transport_lost");
  }

  #lose(code: "coding_agent_process_exited" | "coding_agent_transport_lost"): void {
    const first = !this.#over;
    this.#over = true;
    if (first) this.#handlers.lost(code);
  }

  /** False for a frame after which the stream cannot be believed. */
  #take(line: Uint8Array): boolean {
    const first = line.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0d);
    if (first === undefined) return true;
    if (first !== 0x7b) return ++this.#noise <= maxNoiseLines;
    const message = parseJson(line);
    if (!isRecord(message)) return false;
    if (this.#over) return true;
    if (typeof message.method === "string") {
      if ("id" in message) this.#handlers.request(message.id, message.method, message.params);
      else this.#handlers.notification(message.method, message.params);
      return true;
    }
    const waiting = typeof message.id === "number" ? this.#waiting.get(message.id) : undefined;
    if (waiting === undefined) return true;
    this.#waiting.delete(message.id as number);
    const failed = isRecord(message.error) ? String(message.error.message ?? "error") : null;
    waiting(failed === null ? { ok: true, result: message.result } : { ok: false, message: failed });
    return true;
  }
}
