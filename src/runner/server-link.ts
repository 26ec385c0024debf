// The runner's end of the websocket: registers, answers requests, comes back after an outage with the same identity.
// Malformed frames are skipped; a lost connection never touches a run.
import { isRecord, parseJson } from "../base/json.ts";
import { linkLimits, Request } from "../contract/runner-link.ts";
import type { RunnerConfig } from "./config-file.ts";
import { runnerLimits } from "./limits.ts";
import type { Runner } from "./runner.ts";

export class ServerLink {
  readonly #runner: Runner;
  readonly #config: RunnerConfig;
  #socket: WebSocket | undefined;
  #closed = false;
  #attempt = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(runner: Runner, config: RunnerConfig) {
    this.#runner = runner;
    this.#config = config;
  }

  start(): void {
    if (this.#closed) return;
    const url = `${this.#config.serverUrl.replace(/^http/, "ws")}/api/agents/ws`;
    const socket = this.#config.token.exposeText(
      (token) => new WebSocket(url, { headers: { authorization: `Bearer ${token}` } } as unknown as string[]),
    );
    this.#socket = socket;
    const openedAt = performance.now();
    let registered = false;
    const ping = setInterval(() => this.#send(socket, { type: "ping", ts: Date.now() }), linkLimits.pingEveryMs);
    const silence = setTimeout(() => {
      if (!registered) socket.close();
    }, linkLimits.registeredWithinMs);
    socket.onopen = () => this.#register(socket);
    socket.onmessage = (event) => {
      const message = typeof event.data === "string" ? parseJson(event.data) : undefined;
      if (!isRecord(message)) return;
      if (message.type === "registered") registered = message.success === true;
      if (message.type === "registered" && !registered) socket.close();
      if (message.type === "ping") this.#send(socket, { type: "pong", ts: message.ts });
      if (message.type === "request") void this.#serve(socket, message);
    };
    socket.onerror = () => undefined; // The close that follows is what is acted on.
    socket.onclose = () => {
      clearInterval(ping);
      clearTimeout(silence);
      if (this.#closed || this.#socket !== socket) return;
      if (registered || performance.now() - openedAt > runnerLimits.settledConnectionMs) this.#attempt = 0;
      const steps = runnerLimits.reconnectMs;
      this.#retry = setTimeout(() => this.start(), steps[Math.min(this.#attempt++, steps.length - 1)]);
    };
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    if (this.#socket?.readyState === WebSocket.OPEN) this.#send(this.#socket, { type: "goodbye", reason: "stopping" });
    this.#socket?.close();
  }

  #register(socket: WebSocket): void {
    try {
      this.#send(socket, this.#runner.registration());
    } catch {
      socket.close(); // The registry cannot be read just now; the next attempt reads it again.
    }
  }

  async #serve(socket: WebSocket, message: Record<string, unknown>): Promise<void> {
    const parsed = Request.safeParse(message);
    if (!parsed.success) return;
    let body: Record<string, unknown>;
    try {
      body = await this.#runner.handle(parsed.data);
    } catch {
      body = { error: "internal" }; // One request's fault; the others go on.
    }
    this.#send(socket, {
      type: "result",
      client_id: this.#config.clientId,
      agent_instance_id: this.#runner.instanceId,
      request_id: parsed.data.request_id,
      ...body,
    });
  }

  #send(socket: WebSocket, message: object): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }
}
