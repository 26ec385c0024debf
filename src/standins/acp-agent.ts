// `standin agent`: an ACP agent on stdio that really does the clamp errand. Honest unless told by name to be bad in
// one way. With a gate file it waits in the middle of its turn until that file exists, so that a run is surely in flight.
import { existsSync } from "node:fs";
import { holdsWithin } from "../base/clock.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { LineSplitter } from "../base/lines.ts";
import type { AgentMisbehaviour } from "./agent-misbehaviours.ts";
import { editProject, languageOf, quoteInSource, runTests, type TestRunOptions } from "./agent-work.ts";
import { recoveryFile } from "./exec-mischief.ts";
import { standinLimits } from "./limits.ts";

export interface AgentOptions extends Omit<TestRunOptions, "folder"> {
  readonly input: ReadableStream<Uint8Array>;
  readonly write: (text: string) => void;
  /** Writes text to stderr. */
  readonly complain: (text: string) => void;
  /** A text of its command line that the chatty one says. */
  readonly mark: string;
  readonly version: string;
  readonly misbehave: AgentMisbehaviour;
  /** The file that opens the gate; null: a short fixed pace instead. */
  readonly gate: string | null;
  /** How long a turn is held without a gate. */
  readonly paceMs: number;
  readonly exit: (code: number) => never;
}

/** Serves until its input ends. */
export async function runAgent(options: AgentOptions): Promise<number> {
  const agent = new Agent(options);
  const lines = new LineSplitter({ maxLineBytes: standinLimits.maxFrameBytes });
  for await (const chunk of options.input) for (const line of lines.push(chunk)) agent.take(parseJson(line));
  return 0;
}

class Agent {
  readonly #options: AgentOptions;
  readonly #name: AgentMisbehaviour;
  readonly #config: Record<string, string> = { model: "standin-default", reasoning_effort: "low" };
  #folder = "";
  #cancelled = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#name = options.misbehave;
  }

  take(message: unknown): void {
    if (!isRecord(message)) return;
    const { id, method } = message;
    const params = isRecord(message.params) ? message.params : {};
    if (method === "session/cancel") this.#cancelled = this.#name !== "hangs";
    if (id === undefined || typeof method !== "string") return;
    if (method === "initialize") this.#answer(id, this.#greeting());
    else if (method === "session/new") this.#newSession(id, params);
    else if (method === "session/set_config_option") this.#setOption(id, params);
    else if (method === "session/prompt") void this.#turn(id, promptIn(params));
    else this.#send({ jsonrpc: "2.0", id, error: { code: -32601, message: "method not found" } });
  }

  #greeting(): object {
    const version = this.#name === "other-version" ? "0.0.0-other" : this.#options.version;
    const agentInfo = { name: "proctor-standin-agent", title: "Proctor stand-in", version };
    return {
      protocolVersion: 1,
      ...(this.#name === "no-identity" ? {} : { agentInfo }),
      agentCapabilities: { loadSession: false },
      authMethods: [],
    };
  }

  #newSession(id: unknown, params: Record<string, unknown>): void {
    if (this.#name === "exits-before-prompt") this.#options.exit(3);
    this.#folder = typeof params.cwd === "string" ? params.cwd : "";
    this.#answer(id, { sessionId: "standin-session", configOptions: this.#configOptions() });
  }

  #setOption(id: unknown, params: Record<string, unknown>): void {
    const { configId, value } = params;
    if (typeof configId === "string" && typeof value === "string" && Object.hasOwn(this.#config, configId)) {
      this.#config[configId] = value;
    }
    this.#answer(id, { configOptions: this.#configOptions() });
    // The last option set is the moment before the prompt: a stray answer shows something else from here on.
    if (configId !== "reasoning_effort") return;
    if (this.#name === "other-model") this.#stray({ model: "standin-other" });
    if (this.#name === "other-effort") this.#stray({ reasoning_effort: "high" });
  }

  #stray(change: Record<string, string>): void {
    this.#answer("stray", { configOptions: this.#configOptions(change) });
  }

  /** As a few large writes: it is the relay that has the work. */
  #flood(): void {
    const frame = { jsonrpc: "2.0", id: "stray", result: { configOptions: this.#configOptions() } };
    const some = `${JSON.stringify(frame)}\n`.repeat(500);
    for (let at = 0; at < standinLimits.floodFrames; at += 500) this.#options.write(some);
  }

  #configOptions(change: Record<string, string> = {}): object[] {
    const shown: Record<string, string> = { ...this.#config, ...change };
    const values: Record<string, readonly string[]> = {
      model: ["standin-default", "standin-other", "gpt-5.6-luna"],
      reasoning_effort: ["low", "medium", "high"],
    };
    return Object.entries(values).map(([id, list]) => ({
      id,
      name: id,
      type: "select",
      currentValue: shown[id],
      options: list.map((value) => ({ value, name: value })),
    }));
  }

  async #turn(id: unknown, instruction: string): Promise<void> {
    const name = this.#name;
    if (name === "config-after-prompt") this.#stray({ model: "standin-other" });
    this.#talk("I will read the fixed tests, then implement clamp.");
    if (name === "honest-chatty") this.#chat(instruction);
    if (name === "honest-line-separators") this.#talk("one\u2028two\u2029three\u0085four");
    if (name === "honest-odd-frames") {
      this.#update({ sessionUpdate: "available_commands_update", availableCommands: [] });
      this.#update({ sessionUpdate: "an_update_of_tomorrow", anything: [null] });
    }
    this.#activity({
      sessionUpdate: "tool_call",
      toolCallId: "t1",
      kind: "read",
      title: "Reading the tests",
      status: "completed",
    });
    if (name === "prints-secret") this.#talk(`the token is ${recoveryFile(this.#folder).operator_token}`);
    if (name === "honest-huge-output") for (let at = 0; at < 4; at++) this.#talk("x".repeat(700 * 1024));
    if (name === "honest-recovered-retries") this.#retries();
    if (name === "asks-permission") this.#askPermission();
    if (name === "frame-over-limit") this.#talk("x".repeat(standinLimits.maxFrameBytes));
    if (name === "floods-the-relay") this.#flood();
    if (name === "hangs") return;
    await this.#hold();
    // Not before: an end that comes at once may be seen before the run is, which is another fault.
    if (name === "exits-after-prompt") this.#options.exit(3);
    if (this.#cancelled) {
      this.#answer(id, { stopReason: "cancelled" });
      return;
    }
    editProject(this.#folder, name);
    if (name === "repeats-its-instruction") quoteInSource(this.#folder, instruction);
    const source = languageOf(this.#folder).source;
    this.#activity({
      sessionUpdate: "tool_call",
      toolCallId: "t2",
      kind: "edit",
      title: `Editing ${source}`,
      status: "completed",
    });
    this.#activity({
      sessionUpdate: "tool_call",
      toolCallId: "t3",
      kind: "execute",
      title: "Running the tests",
      status: "in_progress",
    });
    // A test that rewrites the source must do so in the judge's run, not in ours.
    const passed = name === "test-rewrites-source" || (await runTests({ ...this.#options, folder: this.#folder }));
    this.#activity({
      sessionUpdate: "tool_call_update",
      toolCallId: "t3",
      kind: "execute",
      status: passed ? "completed" : "failed",
    });
    this.#talk("Implemented clamp and added one test; all tests pass.");
    this.#answer(id, { stopReason: name === "stops-early" ? "max_tokens" : "end_turn" });
  }

  async #hold(): Promise<void> {
    const { gate, paceMs } = this.#options;
    const opened = () => this.#cancelled || (gate !== null && existsSync(gate));
    await holdsWithin(opened, { withinMs: gate === null ? paceMs : standinLimits.gateMs });
    if (this.#name === "honest-slow") await Bun.sleep(1_000);
  }

  /** Says all it was told, in its messages and on stderr: none of that may come up in what is kept as evidence. */
  #chat(instruction: string): void {
    for (let at = 0; at < 100; at++) this.#talk(`step ${at}`);
    for (const text of [instruction, this.#options.mark]) {
      this.#talk(text);
      this.#options.complain(`${text}\n`);
    }
  }

  #retries(): void {
    for (const status of ["failed", "failed", "completed"])
      this.#activity({
        sessionUpdate: "tool_call",
        toolCallId: `retry-${status}`,
        kind: "read",
        title: "Again",
        status,
      });
    this.#talk("Reconnecting... 2/5 (stream disconnected). Connected again.");
  }

  #askPermission(): void {
    const options = [{ optionId: "yes", name: "Allow", kind: "allow_once" }];
    const params = { sessionId: "standin-session", toolCall: { toolCallId: "t1", title: "Touch a file" }, options };
    this.#send({ jsonrpc: "2.0", id: 1, method: "session/request_permission", params });
  }

  #talk(text: string): void {
    if (this.#name === "no-message") return;
    this.#update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  #activity(update: object): void {
    if (this.#name !== "no-activity") this.#update(update);
  }

  #update(update: object): void {
    this.#send({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "standin-session", update } });
  }

  #answer(id: unknown, result: object): void {
    this.#send({ jsonrpc: "2.0", id, result });
  }

  #send(message: object): void {
    const text = `${JSON.stringify(message)}\n`;
    const step = this.#name === "honest-split-chunks" ? 19 : text.length;
    for (let at = 0; at < text.length; at += step) this.#options.write(text.slice(at, at + step));
  }
}

/** The text of a prompt, for the one that repeats it. */
function promptIn(params: Record<string, unknown>): string {
  const parts = Array.isArray(params.prompt) ? params.prompt : [];
  return parts.map((part) => (isRecord(part) && typeof part.text === "string" ? part.text : "")).join("\n");
}
