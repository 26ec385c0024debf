// Reads what little of a frame is noted: that a prompt was sent, which adapter answered, which model and effort it
// named. It never changes a frame, and a frame it cannot read is simply not noted.

import { decodeUtf8, sha256Hex } from "../base/bytes.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { AuditEvent } from "../contract/audit.ts";
import { relayLimits } from "./limits.ts";

export type Direction = "request" | "response";
type EventOf<N extends AuditEvent["event"]> = Extract<AuditEvent, { event: N }>;
type Config = EventOf<"config_observed">["values"];
type Kept = string | { unlisted_sha256: string };

// Only a frame with one of these can matter. JSON may also spell a letter as \u00XX and a slash as \/, so that a
// prompt could otherwise pass unnoted.
const escaped = Buffer.from("\\u00");
const markers: Record<Direction, readonly Buffer[]> = {
  request: [Buffer.from("session/prompt"), Buffer.from("session\\/prompt"), escaped],
  response: [Buffer.from("agentInfo"), Buffer.from("configOptions"), escaped],
};
const newline = 0x0a;
const listed = /^[A-Za-z0-9][A-Za-z0-9._:/@+[\]-]{0,99}$/;

/** Whether any frame in these bytes could be of interest. */
export function mayMatter(bytes: Buffer, direction: Direction): boolean {
  return markers[direction].some((marker) => bytes.includes(marker));
}

/** Remembers the configuration seen last, because a prompt is noted with it. */
export class Inspector {
  #config: Config = {};

  /** The events that a run of frames gives, in their order. */
  inspect(frames: Buffer, direction: Direction): AuditEvent[] {
    if (!mayMatter(frames, direction)) return [];
    const events: AuditEvent[] = [];
    for (let from = 0; from < frames.byteLength; ) {
      const end = frames.indexOf(newline, from);
      const frame = frames.subarray(from, end < 0 ? frames.byteLength : end);
      if (mayMatter(frame, direction)) events.push(...this.#read(frame, direction));
      from += frame.byteLength + 1;
    }
    return events;
  }

  #read(frame: Buffer, direction: Direction): AuditEvent[] {
    const text = decodeUtf8(frame);
    const message = text === null ? undefined : parseJson(text);
    if (!isRecord(message)) return [];
    if (direction === "request") {
      const isPrompt = message.method === "session/prompt";
      return isPrompt ? [{ event: "prompt_dispatch", effective_config: this.#config }] : [];
    }
    const result = message.result;
    if (!isRecord(result)) return [];
    const events: AuditEvent[] = [];
    if (isRecord(result.agentInfo)) events.push(identityOf(result.agentInfo));
    if (Array.isArray(result.configOptions)) {
      this.#config = configOf(result.configOptions);
      events.push({ event: "config_observed", values: this.#config });
    }
    return events;
  }
}

function identityOf(info: Record<string, unknown>): AuditEvent {
  const name = info.name;
  const version = info.version;
  return {
    event: "adapter_identity",
    name: typeof name === "string" && name !== "" ? keep(name) : "",
    version: typeof version === "string" && version !== "" ? keep(version, relayLimits.versionChars) : "",
  };
}

function configOf(options: readonly unknown[]): Config {
  const config: Config = {};
  for (const option of options) {
    if (!isRecord(option)) continue;
    const id = option.id;
    const value = option.currentValue;
    if (id !== "model" && id !== "reasoning_effort") continue;
    if (typeof value === "boolean") config[id] = value;
    else if (typeof value === "string") config[id] = keep(value);
  }
  return config;
}

function keep(text: string, maxChars = 100): Kept {
  return text.length <= maxChars && listed.test(text) ? text : { unlisted_sha256: sha256Hex(text) };
}
