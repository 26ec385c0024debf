// `standin app-server`: speaks as `codex app-server` 0.144.4 or 0.171.0 does, with scripted turns instead of a model.
// Every peer starts with `initialize`; whoever starts or resumes a thread hears its notifications and its requests.
// It knows the methods of its table and refuses every other one.
import { type Clock, systemClock } from "../base/clock.ts";
import { isRecord, parseJson } from "../base/json.ts";
import {
  type AppServerVersion,
  activeTurn,
  type Thread,
  type Turn,
  threadView,
  turnView,
} from "./app-server-thread.ts";
import { playTurn } from "./app-server-turn.ts";

export interface AppServerOptions {
  readonly version: AppServerVersion;
  /** What `initialize` gives as its home, and where a thread stands that names no folder. */
  readonly codexHome: string;
  readonly folder: string;
  readonly platformOs: string;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

/** One connected client; `take` gets each whole message as text. */
export interface AppServerPeer {
  take(text: string): void;
  close(): void;
}

interface Peer {
  readonly send: (message: object) => void;
  readonly threads: Set<string>;
  initialized: boolean;
}

interface Question {
  readonly threadId: string;
  readonly message: object;
  settle(result: unknown): void;
}

type Answer = { readonly result: object; readonly after?: () => void } | { readonly error: string };
type Params = Readonly<Record<string, unknown>>;

export class AppServer {
  readonly #options: AppServerOptions;
  readonly #peers = new Set<Peer>();
  readonly #threads = new Map<string, Thread>();
  readonly #questions = new Map<number, Question>();
  #nextQuestion = 0;

  constructor(options: AppServerOptions) {
    this.#options = options;
  }

  /** Adds a client; `send` gets each message as JSON without a line end. */
  connect(send: (text: string) => void): AppServerPeer {
    const peer: Peer = { send: (message) => send(JSON.stringify(message)), threads: new Set(), initialized: false };
    this.#peers.add(peer);
    return { take: (text) => this.#take(peer, parseJson(text)), close: () => void this.#peers.delete(peer) };
  }

  #take(peer: Peer, message: unknown): void {
    if (!isRecord(message)) return;
    const { id, method } = message;
    if (typeof method !== "string") this.#settle(id, message.result ?? null);
    else if (id !== undefined) this.#call(peer, { id, method, params: message.params });
  }

  #call(peer: Peer, call: { readonly id: unknown; readonly method: string; readonly params: unknown }): void {
    const { id } = call;
    const answer = this.#answer(peer, call.method, isRecord(call.params) ? call.params : {});
    if ("error" in answer) peer.send({ id, error: { code: -32600, message: answer.error } });
    else {
      peer.send({ id, result: answer.result });
      answer.after?.();
    }
  }

  #answer(peer: Peer, method: string, params: Params): Answer {
    if (method === "initialize") return this.#initialize(peer, params);
    if (!peer.initialized) return { error: "Not initialized" };
    if (method === "thread/start") return this.#startThread(peer, params);
    if (method === "thread/list") return this.#listThreads();
    if (!["thread/read", "thread/resume", "turn/start", "turn/interrupt"].includes(method))
      return { error: `Invalid request: unknown variant \`${method.slice(0, 100)}\`` };
    const thread = this.#threads.get(String(params.threadId));
    if (thread === undefined) return { error: "thread not found" };
    if (method === "thread/read") return { result: { thread: this.#view(thread, params.includeTurns === true) } };
    if (method === "thread/resume") return this.#resume(peer, thread);
    if (method === "turn/start") return this.#startTurn(thread, params);
    return interrupt(thread, params);
  }

  #initialize(peer: Peer, params: Params): Answer {
    if (peer.initialized) return { error: "Already initialized" };
    const client = isRecord(params.clientInfo) ? params.clientInfo : {};
    if (typeof client.name !== "string" || typeof client.version !== "string")
      return { error: "Invalid request: missing field `clientInfo`" };
    peer.initialized = true;
    const { version, codexHome, platformOs } = this.#options;
    const userAgent = `${client.name}/${version} (standin) (${client.name}; ${client.version})`;
    const status = { status: "disabled", serverName: "standin", installationId: null, environmentId: null };
    return {
      result: { userAgent, codexHome, platformFamily: platformOs === "windows" ? "windows" : "unix", platformOs },
      after: () => peer.send(this.#stamped({ method: "remoteControl/status/changed", params: status })),
    };
  }

  #startThread(peer: Peer, params: Params): Answer {
    const now = this.#now();
    const thread: Thread = {
      id: this.#newId(),
      cwd: typeof params.cwd === "string" ? params.cwd : this.#options.folder,
      model: typeof params.model === "string" ? params.model : "standin-default",
      createdAtMs: now,
      updatedAtMs: now,
      turns: [],
      status: { type: "idle" },
    };
    this.#threads.set(thread.id, thread);
    peer.threads.add(thread.id);
    return {
      result: this.#opened(thread, false),
      after: () => this.#notify(thread.id, "thread/started", { thread: this.#view(thread, false) }),
    };
  }

  #listThreads(): Answer {
    const data = [...this.#threads.values()].reverse().map((thread) => this.#view(thread, false));
    return { result: { data, nextCursor: null } };
  }

  /** From here on the peer hears the thread; what waits for an answer is asked again. */
  #resume(peer: Peer, thread: Thread): Answer {
    const fresh = !peer.threads.has(thread.id);
    peer.threads.add(thread.id);
    const waiting = [...this.#questions.values()].filter((question) => fresh && question.threadId === thread.id);
    return {
      result: this.#opened(thread, true),
      after: () => {
        for (const question of waiting) peer.send(question.message);
      },
    };
  }

  #startTurn(thread: Thread, params: Params): Answer {
    if (!Array.isArray(params.input)) return { error: "Invalid request: missing field `input`" };
    if (activeTurn(thread) !== undefined) return { error: "a turn is in progress" };
    const input: readonly unknown[] = params.input;
    const turn: Turn = {
      id: this.#newId(),
      items: [],
      startedAtMs: this.#now(),
      interrupt: new AbortController(),
      status: "inProgress",
      completedAtMs: null,
    };
    thread.turns.push(turn);
    const stage = {
      version: this.#options.version,
      thread,
      turn,
      newId: () => this.#newId(),
      nowMs: () => this.#now(),
      notify: (method: string, body: object) => this.#notify(thread.id, method, body),
      ask: (method: string, body: object) => this.#ask(thread.id, { method, params: body }, turn.interrupt.signal),
    };
    return { result: { turn: turnView(turn, stage.version) }, after: () => void playTurn(stage, input) };
  }

  #ask(threadId: string, request: object, signal: AbortSignal): Promise<unknown> {
    const id = this.#nextQuestion++;
    const answered = Promise.withResolvers<unknown>();
    const message = { id, ...request };
    this.#questions.set(id, { threadId, message, settle: answered.resolve });
    signal.addEventListener("abort", () => this.#settle(id, null), { once: true });
    for (const peer of this.#peers) if (peer.threads.has(threadId)) peer.send(message);
    return answered.promise;
  }

  /** The first answer counts; later ones and strange ids fall on nothing. */
  #settle(id: unknown, result: unknown): void {
    const question = typeof id === "number" ? this.#questions.get(id) : undefined;
    if (question === undefined) return;
    this.#questions.delete(id as number);
    this.#notify(question.threadId, "serverRequest/resolved", { threadId: question.threadId, requestId: id });
    question.settle(result);
  }

  #notify(threadId: string, method: string, params: object): void {
    const message = this.#stamped({ method, params });
    for (const peer of this.#peers) if (peer.threads.has(threadId)) peer.send(message);
  }

  #stamped(message: object): object {
    return this.#options.version === "0.144.4" ? message : { ...message, emittedAtMs: this.#now() };
  }

  #opened(thread: Thread, turns: boolean): object {
    return {
      thread: this.#view(thread, turns),
      model: thread.model,
      modelProvider: "standin",
      cwd: thread.cwd,
      approvalPolicy: "on-request",
      sandbox: { type: "readOnly", networkAccess: false },
      reasoningEffort: null,
    };
  }

  #view(thread: Thread, turns: boolean): object {
    return threadView(thread, this.#options.version, { turns });
  }

  #now(): number {
    return (this.#options.clock ?? systemClock).wallMs();
  }

  #newId(): string {
    return (this.#options.newId ?? Bun.randomUUIDv7)();
  }
}

function interrupt(thread: Thread, params: Params): Answer {
  const turn = activeTurn(thread);
  if (turn === undefined || turn.id !== params.turnId) return { error: "no active turn to interrupt" };
  return { result: {}, after: () => turn.interrupt.abort() };
}
