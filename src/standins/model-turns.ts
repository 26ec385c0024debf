// Chooses the turn that answers a request and makes its output items. Requests that Codex makes on its own behalf
// (review, title) carry an output schema; they are answered without using up a turn.
import { isRecord } from "../base/json.ts";
import type { OutputItem, Scenario, ScenarioItem, ScenarioTurn } from "../contract/responses.ts";

export class TurnBook {
  readonly #scenario: Scenario;
  readonly #used = new Set<number>();
  #ids = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  /** The turn for a request, given as text and as value. */
  pick(text: string, body: Record<string, unknown>): ScenarioTurn {
    const own = this.#auxiliary(body);
    if (own !== null) return { items: [{ say: JSON.stringify(own) }] };
    for (const [at, turn] of this.#scenario.turns.entries()) {
      if (this.#used.has(at) && turn.repeat !== true) continue;
      if (turn.when !== undefined && !text.includes(turn.when)) continue;
      this.#used.add(at);
      return turn;
    }
    return { items: [{ say: this.#scenario.fallback ?? "The scenario has no turn left." }] };
  }

  /** The wire form of a turn's items. */
  outputOf(turn: ScenarioTurn, requestText: string): OutputItem[] {
    return turn.items.map((item) => this.#expand(item, requestText));
  }

  /** A new id with a prefix; they count up within one server. */
  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${String(this.#ids).padStart(6, "0")}`;
  }

  #auxiliary(body: Record<string, unknown>): object | null {
    const format = isRecord(body.text) && isRecord(body.text.format) ? body.text.format : {};
    const schema = isRecord(format.schema) ? format.schema : {};
    const properties = isRecord(schema.properties) ? schema.properties : {};
    if ("outcome" in properties) {
      const outcome = this.#scenario.review ?? "allow";
      return { risk_level: "low", user_authorization: "high", outcome, rationale: "scripted" };
    }
    return "title" in properties ? { title: this.#scenario.title ?? "Scripted task" } : null;
  }

  #expand(item: ScenarioItem, requestText: string): OutputItem {
    if ("think" in item) {
      const summary = [{ type: "summary_text", text: item.think }];
      return { type: "reasoning", id: this.id("rs"), summary, encrypted_content: null };
    }
    if ("call" in item) {
      const namespace = item.namespace === undefined ? {} : { namespace: item.namespace };
      const ids = { id: this.id("fc"), call_id: this.id("call") };
      return {
        type: "function_call",
        ...ids,
        name: item.call,
        ...namespace,
        arguments: JSON.stringify(item.args ?? {}),
        status: "completed",
      };
    }
    if ("custom" in item) {
      const ids = { id: this.id("ctc"), call_id: this.id("call") };
      return { type: "custom_tool_call", ...ids, name: item.custom, input: item.input, status: "completed" };
    }
    const text = "say" in item ? item.say : JSON.stringify(keyValuesOf(requestText));
    const phase = "say" in item && item.phase !== undefined ? { phase: item.phase } : {};
    const content = [{ type: "output_text", text, annotations: [] }];
    return { type: "message", id: this.id("msg"), role: "assistant", status: "completed", ...phase, content };
  }
}

/** KEY=VALUE pairs of the tool outputs, however deep their JSON is quoted inside the request. */
export function keyValuesOf(requestText: string): Record<string, string> {
  const values: Record<string, string> = {};
  // No word boundary in front: inside quoted JSON a key follows the `n` of an escaped newline.
  for (const [, key = "", value = ""] of requestText.matchAll(/(?<![A-Z_])([A-Z][A-Z_]{3,})=([A-Za-z0-9_.-]+)/g))
    values[key] = value;
  return values;
}
