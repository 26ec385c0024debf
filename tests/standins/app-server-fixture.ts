// Peers for the app-server stand-in: one in memory, and `standin app-server` as a process on a free port or a socket.
import { existsSync, readFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { startGroup } from "../../src/base/process-group.ts";
import { selfCommand } from "../../src/base/self.ts";

// biome-ignore lint/suspicious/noExplicitAny: messages are read field by field, as a client would.
export type Message = Record<string, any>;

/** Collects what a peer is told, and calls methods over `post`. */
export class Inbox {
  readonly messages: Message[] = [];
  readonly #post: (text: string) => void;
  #id = 0;

  constructor(post: (text: string) => void) {
    this.#post = post;
  }

  take(text: string): void {
    this.messages.push(JSON.parse(text));
  }

  post(message: object): void {
    this.#post(JSON.stringify(message));
  }

  async until(test: (message: Message) => boolean): Promise<Message> {
    if (!(await holdsWithin(() => this.messages.some(test), { withinMs: 30_000, everyMs: 5 })))
      throw new Error(`missing in ${JSON.stringify(this.messages)}`);
    return this.messages.find(test)!;
  }

  call(method: string, params: object = {}): Promise<Message> {
    const id = `call-${++this.#id}`;
    this.post({ id, method, params });
    return this.until((message) => message.id === id && message.method === undefined);
  }

  async hello(): Promise<Message> {
    const answer = await this.call("initialize", { clientInfo: { name: "test", version: "0.144.4" } });
    this.post({ method: "initialized" });
    return answer;
  }

  async startThread(params: object = {}): Promise<string> {
    return (await this.call("thread/start", params)).result.thread.id;
  }

  /** Starts a turn with this prompt; gives its id. */
  async startTurn(threadId: string, text: string): Promise<string> {
    const input = [{ type: "text", text, text_elements: [] }];
    return (await this.call("turn/start", { threadId, input })).result.turn.id;
  }

  methods(): string[] {
    return this.messages.flatMap((message) => (message.method === undefined ? [] : [message.method]));
  }
}

/** `proctor standin app-server` with these words, as a process group that ends with the test. */
export function startStandin(folder: string, words: readonly string[]) {
  const group = startGroup({
    ...selfCommand(["standin", "app-server", ...words]),
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", HOME: folder },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  return { group, [Symbol.asyncDispose]: async () => void (await group.stop()) };
}

/** One on a free port; resolves when it listens. */
export async function startOnPort(folder: string, words: readonly string[] = []) {
  const file = `${folder}/port`;
  const standin = startStandin(folder, ["--listen", "ws://127.0.0.1:0", "--port-file", file, ...words]);
  const listening = () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n");
  if (!(await holdsWithin(listening, { withinMs: 30_000, everyMs: 10 }))) throw new Error("no port");
  return { ...standin, port: Number(readFileSync(file, "utf8")) };
}

/** A WebSocket peer that has been let in. */
export async function socketPeer(url: string) {
  const socket = new WebSocket(
    url,
    url.startsWith("ws+unix") ? ({ headers: { Host: "localhost" } } as never) : undefined,
  );
  const inbox = new Inbox((text) => socket.send(text));
  const opened = Promise.withResolvers<void>();
  socket.onopen = () => opened.resolve();
  socket.onerror = () => opened.reject(new Error("not let in"));
  socket.onmessage = (event) => inbox.take(String(event.data));
  await opened.promise;
  return { inbox, [Symbol.dispose]: () => socket.close() };
}
