// The part of the Agent Client Protocol, version 1, that a runner speaks. Foreign input: only what is used is read,
// and what does not fit is a null, never a guess.
import { isRecord } from "../base/json.ts";

export type ConfigValue = string | boolean | number;

export interface ConfigOption {
  readonly id: string;
  readonly type: string;
  readonly current: unknown;
  /** Legal values of a select, grouped or not. */
  readonly values: readonly string[];
}

/** The advertised options, or null when the list is malformed. An absent list is an empty one. */
export function readConfigOptions(value: unknown): ConfigOption[] | null {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return null;
  const options: ConfigOption[] = [];
  for (const one of value) {
    if (!isRecord(one) || typeof one.id !== "string") return null;
    options.push({
      id: one.id,
      type: typeof one.type === "string" ? one.type : "select",
      current: one.currentValue,
      values: valuesOf(one.options),
    });
  }
  return options;
}

function valuesOf(options: unknown): string[] {
  if (!Array.isArray(options)) return [];
  return options.flatMap((one) => {
    if (!isRecord(one)) return [];
    if (Array.isArray(one.options)) return valuesOf(one.options);
    return typeof one.value === "string" ? [one.value] : [];
  });
}

export interface UpdateEvent {
  readonly kind: string;
  readonly text?: string;
  readonly label?: string;
  readonly status?: string;
  readonly usage?: Record<string, string | number>;
}

const fileKinds: ReadonlySet<string> = new Set(["edit", "delete", "move"]);

/** The event a `session/update` becomes; null for the kinds that are not kept. */
export function readUpdate(params: unknown): UpdateEvent | null {
  const update = isRecord(params) && isRecord(params.update) ? params.update : null;
  if (update === null) return null;
  const text = isRecord(update.content) && typeof update.content.text === "string" ? update.content.text : "";
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return { kind: "agent_message", text };
    case "agent_thought_chunk":
      return { kind: "reasoning", text };
    case "plan":
      return { kind: "plan", label: "plan", status: "updated" };
    case "tool_call":
    case "tool_call_update":
      return toolEvent(update);
    case "usage_update":
      return { kind: "usage", usage: usageOf(update) };
    default:
      return null;
  }
}

function toolEvent(update: Record<string, unknown>): UpdateEvent {
  const tool = typeof update.kind === "string" ? update.kind : "";
  const kind = fileKinds.has(tool) ? "file_change" : tool === "execute" ? "terminal_activity" : "tool_activity";
  const label = typeof update.title === "string" ? update.title : tool;
  return {
    kind,
    ...(label === "" ? {} : { label }),
    ...(typeof update.status === "string" ? { status: update.status } : {}),
  };
}

function usageOf(update: Record<string, unknown>): Record<string, string | number> {
  const cost = isRecord(update.cost) ? update.cost : {};
  return {
    ...(typeof update.used === "number" ? { used_tokens: update.used } : {}),
    ...(typeof update.size === "number" ? { context_window_tokens: update.size } : {}),
    ...(typeof cost.amount === "number" || typeof cost.amount === "string" ? { cost_amount: String(cost.amount) } : {}),
    ...(typeof cost.currency === "string" ? { cost_currency: cost.currency.slice(0, 16) } : {}),
  };
}
