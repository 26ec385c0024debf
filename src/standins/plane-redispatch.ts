// A control plane that sends the work out again: when the start is repeated it cancels the first run at the runner and
// starts another one there, and shows that one to everybody under the first one's id, also after its own restart.
import { existsSync } from "node:fs";
import { isRecord, parseJson } from "../base/json.ts";
import { readPrivateFile, writePrivateJson } from "../base/private-files.ts";
import type { Frame, LinkBridge, LinkTwist } from "./link-bridge.ts";
import { otherId } from "./plane-call.ts";

export class Redispatch {
  #bridge: LinkBridge | null = null;
  #start: Frame | null = null;
  #first = "";
  #second = "";
  #createdAt: unknown;
  readonly #asked = new Map<string, (frame: Frame) => void>();
  readonly #memory: string;

  /** `memory` is the file that the second start of this stand-in reads the two ids from. */
  constructor(memory: string) {
    this.#memory = memory;
    const kept = existsSync(memory) ? parseJson(readPrivateFile(memory, { maxBytes: 4096 })) : null;
    if (!isRecord(kept)) return;
    [this.#first, this.#second, this.#createdAt] = [String(kept.first), String(kept.second), kept.createdAt];
  }

  readonly twist: LinkTwist = {
    toRunner: (frame) => {
      const request = frame.coding_agent;
      if (isRecord(request) && request.operation === "start" && this.#start === null) {
        this.#start = structuredClone(frame);
        this.#first = String(request.run_id);
      }
      return renamed(frame, this.#first, this.#second);
    },
    toServer: (frame) => {
      const waiting = this.#asked.get(String(frame.request_id));
      this.#createdAt ??= createdAtIn(frame);
      if (waiting === undefined && this.#second === "") return frame;
      if (waiting === undefined) return disguised(renamed(frame, this.#second, this.#first), this.#createdAt);
      waiting(frame);
      return null;
    },
  };

  use(bridge: LinkBridge): void {
    this.#bridge = bridge;
  }

  /** The second start, once the first has been prompted. */
  async again(): Promise<void> {
    if (this.#start === null || this.#second !== "") return;
    const runId = this.#first;
    const question = { operation: "observe", run_id: runId, limit: 1, wait_secs: 1 };
    for (let at = 0; at < 20; at++) if (isStarted(await this.#ask(question))) break;
    await this.#ask({ operation: "cancel", run_id: runId });
    const second = otherId(runId);
    await this.#ask({ ...(this.#start.coding_agent as Frame), run_id: second });
    this.#second = second;
    writePrivateJson(this.#memory, { first: runId, second, createdAt: this.#createdAt });
  }

  #ask(request: Frame): Promise<Frame> {
    const id = `again-${this.#asked.size}`;
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      this.#bridge?.sendToRunner(JSON.stringify({ ...this.#start, request_id: id, coding_agent: request }));
    });
  }
}

function isStarted(frame: Frame): boolean {
  return JSON.stringify(frame).includes('"execution_state":"started"');
}

/** The frame with one id in another's place; a run that has the new name already is left out of an inventory. */
function renamed(frame: Frame, from: string, to: string): Frame {
  if (from === "" || to === "") return frame;
  const inventory = frame.coding_agent_inventory;
  if (isRecord(inventory) && Array.isArray(inventory.runs))
    inventory.runs = inventory.runs.filter((run) => !isRecord(run) || run.run_id !== to);
  return JSON.parse(JSON.stringify(frame).replaceAll(from, to)) as Frame;
}

/** The second run shown as the first: as old as that one, and never with an older revision than it has shown. */
function disguised(frame: Frame, createdAt: unknown): Frame {
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) walk(one);
    else if (isRecord(value)) {
      if (typeof value.observation_revision === "number")
        Object.assign(value, { observation_revision: value.observation_revision + 1000, created_at: createdAt });
      for (const one of Object.values(value)) walk(one);
    }
  };
  walk(frame);
  return frame;
}

function createdAtIn(frame: Frame): unknown {
  const answer = isRecord(frame.coding_agent) ? frame.coding_agent : {};
  const payload = isRecord(answer.payload) ? answer.payload : {};
  return isRecord(payload.run) ? payload.run.created_at : undefined;
}
