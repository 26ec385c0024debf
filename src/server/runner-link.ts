// The server's end of the runner link: who is registered, and questions with one answer each. A result from another
// connection than the one asked is dropped; a second process under a name that is online is refused. A socket ends with
// the token that opened it.

import { toHex } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { RandomBytes } from "../base/random.ts";
import { runtimeProjectId } from "../contract/ids.ts";
import { linkLimits, Register, Result } from "../contract/runner-link.ts";
import { serverLimits } from "./limits.ts";
import type { ServerLog } from "./log.ts";
import type { Principal } from "./principal.ts";
import type { ConnectedRunner, RunnerAnswer, RunnerLink, RunnerRequest } from "./runner-registry.ts";
import { liveRunsOf } from "./runs.ts";
import type { Database, Store } from "./store.ts";
import { tokenStands } from "./tokens.ts";

type Socket = Bun.ServerWebSocket<unknown>;

interface Connection {
  readonly principal: Principal;
  runner: ConnectedRunner | null;
  lastSeenMs: number;
  socket: Socket | null;
  registerTimer: ReturnType<typeof setTimeout> | null;
  readonly waiting: Map<string, (answer: RunnerAnswer) => void>;
}

export interface RunnerLinkParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: ServerLog;
}

export function openRunnerLink(parts: RunnerLinkParts): RunnerLink {
  return new LiveLink(parts);
}

class LiveLink implements RunnerLink {
  readonly #parts: RunnerLinkParts;
  readonly #online = new Map<string, Connection>();
  readonly #lastInstance = new Map<string, string>();
  readonly #all = new Set<Connection>();
  #look: ReturnType<typeof setInterval> | null = null;

  constructor(parts: RunnerLinkParts) {
    this.#parts = parts;
  }

  runners(): readonly ConnectedRunner[] {
    return [...this.#online.values()].flatMap((one) =>
      one.runner === null ? [] : [{ ...one.runner, lastSeenMs: one.lastSeenMs }],
    );
  }

  runner(clientId: string): ConnectedRunner | null {
    return this.runners().find((one) => one.clientId === clientId) ?? null;
  }

  request(clientId: string, request: RunnerRequest): Promise<RunnerAnswer> {
    const connection = this.#online.get(clientId);
    if (connection?.socket == null) return Promise.resolve({ outcome: "offline" });
    const id = toHex(this.#parts.random(12));
    return new Promise((resolve) => {
      const finish = (answer: RunnerAnswer) => {
        clearTimeout(timer);
        connection.waiting.delete(id);
        resolve(answer);
      };
      const timer = setTimeout(() => finish({ outcome: "timeout" }), request.timeoutMs);
      connection.waiting.set(id, finish);
      send(connection.socket!, {
        ...request.payload,
        type: "request",
        request_id: id,
        client_id: clientId,
        kind: request.kind,
        command: "",
        timeout_secs: Math.ceil(request.timeoutMs / 1000),
        created_at: Math.floor(this.#parts.clock.wallMs() / 1000),
      });
    });
  }

  socketData(principal: Principal): unknown {
    const connection: Connection = {
      principal,
      runner: null,
      lastSeenMs: this.#parts.clock.wallMs(),
      socket: null,
      registerTimer: null,
      waiting: new Map(),
    };
    return connection;
  }

  readonly websocket = {
    maxPayloadLength: linkLimits.maxMessageBytes,
    open: (socket: Socket): void => {
      const connection = socket.data as Connection;
      connection.socket = socket;
      this.#all.add(connection);
      this.#look ??= setInterval(() => void this.tokensChanged(), serverLimits.tokenLookMs);
      connection.registerTimer = setTimeout(() => {
        refuse(socket, "expected_register");
      }, linkLimits.registerWithinMs);
    },
    message: (socket: Socket, message: string | Buffer): void => {
      if (typeof message !== "string") return;
      const value = parseJson(message);
      if (isRecord(value)) this.#take(socket, value);
    },
    close: (socket: Socket): void => this.#gone(socket.data as Connection),
  };

  close(): void {
    for (const connection of [...this.#all]) {
      connection.socket?.close(1001, "stopping");
      this.#gone(connection);
    }
  }

  async tokensChanged(): Promise<void> {
    const nowSeconds = Math.floor(this.#parts.clock.wallMs() / 1000);
    const hasEnded = (db: Database) => (one: Connection) => !tokenStands(db, one.principal.tokenId, nowSeconds);
    let ended: Connection[] = [];
    try {
      ended = await this.#parts.store.read((db) => [...this.#all].filter(hasEnded(db)));
    } catch {
      // A store that cannot be read says nothing about a token; the next look may.
    }
    for (const connection of ended) {
      if (!this.#all.has(connection)) continue;
      if (connection.socket !== null) refuse(connection.socket, "token_ended");
      this.#gone(connection);
      this.#parts.log.note("runner_token_ended");
    }
  }

  #take(socket: Socket, message: Record<string, unknown>): void {
    const connection = socket.data as Connection;
    if (!this.#all.has(connection)) return; // Already gone for us; what it still sends counts for nothing.
    connection.lastSeenMs = this.#parts.clock.wallMs();
    if (connection.runner === null) {
      if (message.type === "register") this.#register(connection, message);
      else refuse(socket, "expected_register");
      return;
    }
    if (message.type === "ping") send(socket, { type: "pong", ts: message.ts });
    if (message.type === "goodbye") socket.close(1000, "goodbye");
    if (message.type !== "result") return;
    const result = Result.safeParse(message);
    if (!result.success || result.data.agent_instance_id !== connection.runner.instanceId) return;
    if (result.data.client_id !== connection.runner.clientId) return;
    connection.waiting.get(result.data.request_id)?.({ outcome: "answered", result: result.data });
  }

  #register(connection: Connection, message: Record<string, unknown>): void {
    const socket = connection.socket!;
    const parsed = Register.safeParse(message);
    if (!parsed.success) return void refuse(socket, "register_failed");
    const register = parsed.data;
    const { principal } = connection;
    if (principal.allowedClientId !== register.client_id) return void refuse(socket, "register_forbidden");
    if (register.owner !== undefined && register.owner !== principal.username)
      return void refuse(socket, "register_forbidden");
    const other = this.#online.get(register.client_id);
    if (other !== undefined && other.runner?.instanceId !== register.agent_instance_id)
      return void refuse(socket, "register_failed");
    const now = this.#parts.clock.wallMs();
    if (connection.registerTimer !== null) clearTimeout(connection.registerTimer);
    connection.runner = runnerOf(register, { owner: principal.username ?? "", now });
    this.#online.set(register.client_id, connection);
    if (other !== undefined) {
      other.socket?.close(1000, "replaced");
      this.#gone(other);
    }
    const runs = liveRunsOf(this);
    const from = { clientId: register.client_id, instanceId: register.agent_instance_id };
    for (const run of register.coding_agent_inventory.runs) runs.merge(run, from);
    const before = this.#lastInstance.get(register.client_id);
    if (before !== undefined && before !== register.agent_instance_id) runs.replaced(from, now);
    this.#lastInstance.set(register.client_id, register.agent_instance_id);
    send(socket, { type: "registered", success: true, client: { client_id: register.client_id, status: "online" } });
    this.#parts.log.note("runner_registered", { projects: register.projects.length });
  }

  #gone(connection: Connection): void {
    this.#all.delete(connection);
    if (this.#all.size === 0 && this.#look !== null) {
      clearInterval(this.#look);
      this.#look = null;
    }
    if (connection.registerTimer !== null) clearTimeout(connection.registerTimer);
    const id = connection.runner?.clientId;
    if (id !== undefined && this.#online.get(id) === connection) this.#online.delete(id);
    for (const answer of [...connection.waiting.values()]) answer({ outcome: "lost" });
  }
}

function runnerOf(register: Register, facts: { readonly owner: string; readonly now: number }): ConnectedRunner {
  return {
    clientId: register.client_id,
    owner: facts.owner,
    instanceId: register.agent_instance_id,
    capabilities: register.capabilities,
    registeredAtMs: facts.now,
    lastSeenMs: facts.now,
    providers: register.coding_agent_providers.map((one) => ({
      providerId: one.provider_id,
      providerInstanceId: one.provider_instance_id,
      name: one.name,
    })),
    projects: register.projects.map((one) => ({
      id: runtimeProjectId(register.client_id, one.id),
      clientId: register.client_id,
      projectId: one.id,
      name: one.name ?? null,
      path: one.path,
      allowPatch: one.allow_patch,
      disabled: one.disabled,
      description: one.description ?? null,
      revision: one.revision ?? null,
    })),
  };
}

function send(socket: Socket, message: object): void {
  socket.send(JSON.stringify(message));
}

function refuse(socket: Socket, code: string): void {
  send(socket, { type: "error", code, message: code });
  socket.close(1008, code);
}
