// `standin exec`: speaks the event stream of `codex exec --json` and really reads over MCP. It is honest unless told
// by name to be bad in one way. It never writes a token anywhere.
import { readFileSync, writeFileSync } from "node:fs";
import type { Secret } from "../base/secret.ts";
import { type Errand, type McpTarget, readErrand } from "./exec-argv.ts";
import { type ExecMisbehaviour, forbiddenOf, preambleOf } from "./exec-misbehaviours.ts";
import { createLifecycleRow, leaveBehind } from "./exec-mischief.ts";
import { answerText, forgedResult, readArguments, shownArguments, shownResult } from "./exec-receipt.ts";
import { standinLimits } from "./limits.ts";
import { McpCaller } from "./mcp-caller.ts";

export interface ExecOptions {
  readonly prompt: string;
  readonly folder: string;
  readonly target: McpTarget;
  readonly token: Secret;
  readonly version: string;
  readonly misbehave: ExecMisbehaviour;
  readonly threadId: string;
  /** A text of its environment that the chatty one says. */
  readonly mark: string;
  /** Writes text to stdout as it is. */
  readonly write: (text: string) => void;
  /** Writes text to stderr. */
  readonly complain: (text: string) => void;
}

/** Plays one turn and returns the exit number. */
export async function runExec(options: ExecOptions): Promise<number> {
  return await new ExecTurn(options).play();
}

class ExecTurn {
  readonly #options: ExecOptions;
  readonly #name: ExecMisbehaviour;
  readonly #errand: Errand;
  #items = 0;

  constructor(options: ExecOptions) {
    this.#options = options;
    this.#name = options.misbehave;
    this.#errand = readErrand(options.prompt);
  }

  async play(): Promise<number> {
    const name = this.#name;
    this.#line({ type: "thread.started", thread_id: this.#options.threadId });
    this.#line({ type: "turn.started" });
    this.#preamble();
    if (name === "honest-slow") await Bun.sleep(1_000);
    const forbidden = forbiddenOf(name);
    if (forbidden?.phase === "before" || forbidden?.phase === "instead") this.#item(forbidden.item);
    const texts = forbidden?.phase === "instead" ? this.#fromDisk() : await this.#read();
    if (forbidden?.phase === "after") this.#item(forbidden.item);
    if (name === "shell-never-completed") this.#event("item.started", { type: "command_execution", command: "ls" });
    if (name === "leaves-grandchild" || name === "leaves-daemon") leaveBehind(name === "leaves-daemon");
    if (name === "creates-lifecycle-row") await createLifecycleRow(this.#options.folder);
    if (name === "prints-secret") this.#printSecret();
    if (name === "leaves-file") writeFileSync(`${this.#options.folder}/notes.txt`, "left here\n");
    if (name !== "no-message") this.#item({ type: "agent_message", text: answerText(name, texts.values()) });
    return await this.#end();
  }

  async #end(): Promise<number> {
    const name = this.#name;
    const { write, complain } = this.#options;
    if (name === "malformed-line") write("this is no JSON\n");
    if (name === "array-line") write("[1]\n");
    const usage = { input_tokens: 200, cached_input_tokens: 0, output_tokens: 20, reasoning_output_tokens: 0 };
    const last = { type: "turn.completed", usage };
    if (name === "turn-failed-exit-0") this.#line({ type: "turn.failed", error: { message: "stand-in failure" } });
    else if (name === "cut-last-line") write(JSON.stringify(last).slice(0, 30));
    else if (name !== "turn-unfinished") this.#line(last);
    const filler = `${JSON.stringify({ type: "item.completed", item: { id: "f", type: "reasoning", text: "x".repeat(65_000) } })}\n`;
    if (name === "stdout-flood") for (let at = 0; at < 140; at++) write(filler);
    if (name === "stderr-flood") for (let at = 0; at < 40; at++) complain(filler);
    // A flood is caught while it runs: the flooder stays until it is ended.
    if (name === "never-ending" || name === "stdout-flood" || name === "stderr-flood") await forever();
    return name === "exit-7" ? 7 : 0;
  }

  /** Says all it was told, in messages and on stderr: none of that may come up in what is kept as evidence. */
  #chat(): void {
    const { prompt, mark, folder, complain } = this.#options;
    for (const text of [prompt, mark, readFileSync(`${folder}/README.md`, "utf8")]) {
      this.#item({ type: "agent_message", text });
      complain(`${text}\n`);
    }
  }

  #manyEvents(): void {
    const item = (at: number) => ({ id: `many_${at}`, type: "agent_message", text: `step ${at}` });
    for (let at = 0; at < standinLimits.manyMessages; at++)
      for (const type of ["item.started", "item.completed"]) this.#line({ type, item: item(at) });
  }

  #printSecret(): void {
    const { token, complain } = this.#options;
    token.exposeText((text) => {
      this.#item({ type: "agent_message", text: `the token is ${text}` });
      complain(`the token is ${text}\n`);
    });
  }

  #preamble(): void {
    if (this.#name === "honest-recovered-retries") {
      for (const at of [1, 2]) this.#line({ type: "error", message: `Reconnecting... ${at}/5 (stream disconnected)` });
    }
    if (this.#name === "honest-odd-frames") this.#line({ type: "turn.progress", percent: 10 });
    for (const item of preambleOf(this.#name)) this.#item(item);
    if (this.#name === "honest-chatty") this.#chat();
    if (this.#name === "too-many-events") this.#manyEvents();
    if (this.#name === "no-message") return;
    this.#item({ type: "agent_message", text: "Reading both files in one batch." });
  }

  /** Reads over MCP (or pretends to) and returns the texts the answer is made of. */
  async #read(): Promise<Map<string, string>> {
    const name = this.#name;
    const { paths } = this.#errand;
    if (name === "no-call") return this.#fromDisk();
    if (name === "forged-receipt") {
      const forged = forgedResult(this.#fromDisk());
      this.#callEvents(readArguments(name, this.#errand, paths), forged);
      return this.#fromDisk();
    }
    const { target, token, version } = this.#options;
    const caller = new McpCaller({ ...target, token, clientName: "proctor-standin-exec", clientVersion: version });
    await caller.open();
    const batches =
      name === "honest-two-calls" ? paths.map((path) => [path]) : [name === "one-file" ? paths.slice(0, 1) : paths];
    for (const batch of batches) {
      const args = readArguments(name, this.#errand, batch);
      this.#callEvents(args, await caller.call("read_files", args));
    }
    await caller.close();
    return this.#fromDisk();
  }

  #callEvents(args: Record<string, unknown>, result: Record<string, unknown>): void {
    const name = this.#name;
    const base = {
      type: "mcp_tool_call",
      server: name === "wrong-server" ? "elsewhere" : "bidirectional",
      tool: name === "wrong-tool" ? "write_files" : "read_files",
      arguments: shownArguments(name, args),
    };
    const refused = { result: null, error: { message: "user cancelled MCP tool call" }, status: "failed" };
    if (name === "call-failed-event") this.#event("item.failed", { ...base, ...refused });
    if (name === "call-declined-then-good") this.#item({ ...base, ...refused });
    const id = this.#event("item.started", { ...base, result: null, error: null, status: "in_progress" });
    if (name === "call-never-completed") return;
    const { server, ...unnamed } = base;
    const named = name === "server-left-out" ? unnamed : { server, ...unnamed };
    const failed = name === "call-declined" || result.isError === true;
    const done = failed ? refused : { result: shownResult(name, result), error: null, status: "completed" };
    this.#line({ type: "item.completed", item: { id, ...named, ...done } });
  }

  #fromDisk(): Map<string, string> {
    const { folder } = this.#options;
    return new Map(this.#errand.paths.map((path) => [path, readFileSync(`${folder}/${path}`, "utf8")]));
  }

  #item(item: object): void {
    this.#event("item.completed", item);
  }

  #event(type: string, item: object): string {
    const id = `item_${this.#items++}`;
    this.#line({ type, item: { id, ...item } });
    return id;
  }

  #line(frame: object): void {
    const text = `${JSON.stringify(frame)}\n`;
    const step = this.#name === "honest-split-chunks" ? 17 : text.length;
    for (let at = 0; at < text.length; at += step) this.#options.write(text.slice(at, at + step));
  }
}

async function forever(): Promise<never> {
  for (;;) await Bun.sleep(60_000);
}
