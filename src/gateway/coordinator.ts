// Many clients in front of one upstream: an id space each, rights by method, one controller a thread, notifications
// only to those attached, server requests only to approvers, answered once and replayed after a resume.
import { type Clock, systemClock } from "../base/clock.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { carriesCredential } from "./application-secrets.ts";
import type { AuditLog } from "./audit-log.ts";
import { Leases } from "./lease.ts";
import { gatewayLimits } from "./limits.ts";
import { needsLease, rightFor } from "./method-table.ts";
import type { Permission, Rights } from "./permissions.ts";
import { errorMessage, type MessageError } from "./refusals.ts";
import type { OpenUpstream, UpstreamLink } from "./upstream.ts";

export interface ClientPort {
  readonly clientId: string;
  readonly rights: Rights;
  send(text: string): void;
  close(code: number): void;
}

export interface CoordinatorOptions {
  readonly upstream: OpenUpstream;
  readonly clientHome: string;
  readonly allowedMethods?: ReadonlyMap<string, Permission>;
  readonly clock?: Clock;
  readonly leaseMs?: number;
  readonly approvalWaitMs?: number;
  readonly audit?: AuditLog;
}

interface Call {
  readonly session: Session | null;
  readonly id: unknown;
  readonly method: string;
  readonly threadId: string | undefined;
  readonly done?: (answer: Record<string, unknown>) => void;
}

interface Approval {
  readonly id: string | number;
  readonly threadId: string;
  readonly text: string;
  timer: ReturnType<typeof setTimeout> | null;
}

/** One client's place behind the gateway. */
export class Session {
  readonly port: ClientPort;
  readonly threads = new Set<string>();
  readonly waiting = new Set<string>();
  initialized = false;
  attached = false;
  pending = 0;
  constructor(port: ClientPort) {
    this.port = port;
  }
}

export class Coordinator {
  readonly #options: CoordinatorOptions;
  clientHome: string;
  readonly #sessions = new Set<Session>();
  readonly #calls = new Map<number, Call>();
  readonly #approvals = new Map<string, Approval>();
  readonly leases: Leases<Session>;
  readonly counts = new Map<string, Record<string, number>>();
  #nextId = 1;
  #link: Promise<UpstreamLink> | null = null;
  #hello: Promise<Record<string, unknown>> | null = null;
  #status: unknown = { status: "disabled", serverName: "proctor", installationId: null, environmentId: null };

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.clientHome = options.clientHome;
    this.leases = new Leases({
      clock: options.clock ?? systemClock,
      ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
    });
  }

  attach(port: ClientPort): Session {
    const session = new Session(port);
    this.#sessions.add(session);
    return session;
  }

  /** The client is gone: its lease is free, its calls are nobody's, its approvals wait for another. */
  detach(session: Session): void {
    if (!this.#sessions.delete(session)) return;
    this.leases.releaseAll(session);
    for (const approval of this.#approvals.values()) this.#armExpiry(approval);
  }

  /** One text message of a client. Never throws for what the client sent. */
  receive(session: Session, text: string): undefined {
    const message = parseJson(text);
    if (message === undefined) return this.#refuse(session, null, "parse_error");
    const id = isRecord(message) ? message.id : undefined;
    if (carriesCredential(message)) return this.#refuse(session, id, "unauthenticated");
    if (!isRecord(message)) return this.#refuse(session, null, "invalid_request");
    if (!("method" in message)) return this.#answer(session, message);
    if (typeof message.method !== "string" || ("params" in message && !isParams(message.params)))
      return this.#refuse(session, isId(id) ? id : null, "invalid_request");
    if (!("id" in message)) return this.#notification(session, message.method);
    if (!isId(id)) return this.#refuse(session, null, "invalid_request");
    this.#call(session, { id, method: message.method, params: isRecord(message.params) ? message.params : undefined });
  }

  #notification(session: Session, method: string): undefined {
    if (method === "initialized" && session.initialized) session.attached = true;
  }

  #call(
    session: Session,
    call: { id: string | number; method: string; params: Record<string, unknown> | undefined },
  ): undefined {
    const { id, method } = call;
    if (method === "initialize") return void this.#initialize(session, id);
    const right = rightFor(method, this.#options.allowedMethods);
    this.#count(session, right ?? "unknown");
    if (right === undefined || !session.initialized) return this.#refuse(session, id, "invalid_request", method);
    if (!session.port.rights.has(right)) return this.#refuse(session, id, "unauthorized", method);
    const threadId = threadOf(call.params);
    if (threadId !== undefined && needsLease(method, right) && !this.leases.claim(threadId, session))
      return this.#refuse(session, id, "controller_required", method);
    if (session.pending >= gatewayLimits.maxPendingCalls) return this.#refuse(session, id, "busy", method);
    // An observer attaches by resuming and must not change the thread's settings on the way.
    const plain = method === "thread/resume" && !session.port.rights.has("interact");
    session.pending++;
    void this.#forward({ session, id, method, threadId }, plain ? { threadId } : call.params);
  }

  async #initialize(session: Session, id: string | number): Promise<undefined> {
    if (session.initialized) return this.#refuse(session, id, "invalid_request");
    session.initialized = true;
    try {
      const result = await this.#upstreamHello();
      session.port.send(JSON.stringify({ id, result: { ...result, codexHome: this.clientHome } }));
      session.port.send(JSON.stringify({ method: "remoteControl/status/changed", params: this.#status }));
    } catch {
      // The upstream is not there: the client is told and may try again.
      session.initialized = false;
      this.#refuse(session, id, "busy");
    }
  }

  #upstreamHello(): Promise<Record<string, unknown>> {
    this.#hello ??= new Promise((resolve, reject) => {
      const params = {
        clientInfo: { name: "proctor-gateway", title: null, version: "0.144.4" },
        capabilities: { experimentalApi: true },
      };
      const done = (answer: Record<string, unknown>) =>
        isRecord(answer.result) ? resolve(answer.result) : reject(new Error("refused"));
      void this.#forward({ session: null, id: null, method: "initialize", threadId: undefined, done }, params);
    });
    this.#hello.then(
      () => this.#tell({ method: "initialized" }),
      () => {
        this.#hello = null;
      },
    );
    return this.#hello;
  }

  async #forward(call: Call, params: unknown): Promise<void> {
    const id = this.#nextId++;
    this.#calls.set(id, call);
    try {
      (await this.#open()).send(
        JSON.stringify({ id, method: call.method, ...(params === undefined ? {} : { params }) }),
      );
    } catch {
      this.#settle(id, { error: { code: -32000, message: "upstream unreachable", data: { name: "busy" } } });
    }
  }

  #open(): Promise<UpstreamLink> {
    this.#link ??= this.#options
      .upstream({ message: (text) => this.#fromUpstream(text), closed: () => this.#upstreamClosed() })
      .catch((error: unknown) => {
        this.#link = null;
        throw error;
      });
    return this.#link;
  }

  #tell(message: unknown): void {
    this.#link?.then((link) => link.send(JSON.stringify(message))).catch(() => this.#upstreamClosed());
  }

  #fromUpstream(text: string): void {
    const message = parseJson(text);
    if (!isRecord(message)) return;
    if (typeof message.method !== "string") {
      if (typeof message.id === "number") this.#settle(message.id, message);
      return;
    }
    const threadId = threadOf(message.params);
    if (isId(message.id)) {
      this.#serverRequest({ id: message.id, threadId, text });
      return;
    }
    if (message.method === "remoteControl/status/changed") this.#status = message.params;
    if (threadId !== undefined) this.leases.renew(threadId);
    if (message.method === "serverRequest/resolved" && isRecord(message.params)) this.#drop(message.params.requestId);
    if (message.method === "thread/closed") this.#dropThread(threadId);
    for (const session of this.#sessions) {
      if (!session.attached || !maySee(session, message.method, threadId)) continue;
      session.port.send(text);
    }
  }

  #settle(id: number, answer: Record<string, unknown>): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    call.done?.(answer);
    const { session } = call;
    if (session === null) return;
    session.pending--;
    if (!this.#sessions.has(session)) return;
    const body = "error" in answer ? { error: answer.error } : { result: answer.result ?? null };
    session.port.send(JSON.stringify({ id: call.id, ...body }));
    if (!("error" in answer)) this.#follow(session, call, answer.result);
  }

  /** A client follows a thread it started, read, resumed or forked; what waits for approval comes after that. */
  #follow(session: Session, call: Call, result: unknown): void {
    if (!["thread/start", "thread/resume", "thread/read", "thread/fork"].includes(call.method)) return;
    const threadId = threadOf(result) ?? call.threadId;
    if (threadId === undefined) return;
    session.threads.add(threadId);
    if (call.method === "thread/read") return;
    for (const approval of this.#approvals.values()) if (approval.threadId === threadId) this.#offer(session, approval);
  }

  #serverRequest(request: { id: string | number; threadId: string | undefined; text: string }): undefined {
    const { id, threadId, text } = request;
    if (threadId === undefined || this.#approvals.size >= gatewayLimits.maxPendingApprovals) return this.#expire(id);
    const approval: Approval = { id, threadId, text, timer: null };
    this.#approvals.set(keyOf(id), approval);
    for (const session of this.#sessions) if (session.threads.has(threadId)) this.#offer(session, approval);
    this.#armExpiry(approval);
  }

  #offer(session: Session, approval: Approval): void {
    if (!session.port.rights.has("approve") || session.waiting.has(keyOf(approval.id))) return;
    session.waiting.add(keyOf(approval.id));
    session.port.send(approval.text);
    if (approval.timer !== null) clearTimeout(approval.timer);
    approval.timer = null;
  }

  /** With nobody who may answer, a request is kept for the named time and then failed. */
  #armExpiry(approval: Approval): void {
    const answerable = [...this.#sessions].some((session) => session.waiting.has(keyOf(approval.id)));
    if (answerable || approval.timer !== null) return;
    const waitMs = this.#options.approvalWaitMs ?? gatewayLimits.approvalWaitMs;
    approval.timer = setTimeout(() => {
      this.#drop(approval.id);
      this.#expire(approval.id);
    }, waitMs);
  }

  #expire(id: string | number): undefined {
    this.#tell({ id, error: { code: -32000, message: "no client may answer", data: { name: "busy" } } });
  }

  #answer(session: Session, message: Record<string, unknown>): undefined {
    const { id } = message;
    if (!isId(id) || "result" in message === "error" in message)
      return this.#refuse(session, isId(id) ? id : null, "invalid_request");
    if (!session.port.rights.has("approve")) return this.#refuse(session, id, "unauthorized");
    if (!session.waiting.has(keyOf(id)) || !this.#approvals.has(keyOf(id)))
      return this.#refuse(session, id, "invalid_request");
    this.#drop(id);
    this.#tell("error" in message ? { id, error: message.error } : { id, result: message.result });
  }

  #drop(id: unknown): void {
    const approval = this.#approvals.get(keyOf(id));
    if (approval?.timer != null) clearTimeout(approval.timer);
    this.#approvals.delete(keyOf(id));
    for (const session of this.#sessions) session.waiting.delete(keyOf(id));
  }

  #dropThread(threadId: string | undefined): void {
    for (const approval of [...this.#approvals.values()]) if (approval.threadId === threadId) this.#drop(approval.id);
  }

  /** Pending calls are answered, clients are told to come again; the next one opens a new upstream. */
  #upstreamClosed(): void {
    if (this.#link === null) return;
    this.#link = null;
    this.#hello = null;
    this.#options.audit?.note({ event: "upstream", reason: "closed" });
    const error = { code: -32000, message: "upstream ended", data: { name: "busy" } };
    for (const id of [...this.#calls.keys()]) this.#settle(id, { error });
    for (const approval of [...this.#approvals.values()]) this.#drop(approval.id);
    this.leases.clear();
    for (const session of [...this.#sessions]) session.port.close(1013);
  }

  /** Ends the runtime; false when it is still there. */
  async close(): Promise<boolean> {
    const link = this.#link;
    this.#link = null;
    for (const approval of [...this.#approvals.values()]) this.#drop(approval.id);
    if (link === null) return true;
    return await link.then((open) => open.close()).catch(() => false);
  }

  #refuse(session: Session, id: unknown, name: MessageError, method?: string): undefined {
    const reason = { event: "message_refused", client: session.port.clientId, reason: name } as const;
    this.#options.audit?.note(method === undefined ? reason : { ...reason, method });
    session.port.send(errorMessage(isId(id) ? id : null, name));
  }

  #count(session: Session, kind: string): void {
    const counts = this.counts.get(session.port.clientId) ?? {};
    counts[kind] = (counts[kind] ?? 0) + 1;
    this.counts.set(session.port.clientId, counts);
  }
}

function isId(value: unknown): value is string | number {
  return typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));
}

function isParams(value: unknown): boolean {
  return value === null || typeof value === "object";
}

function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? "";
}

/** The thread a message is about, wherever the dialect puts it. */
function threadOf(params: unknown): string | undefined {
  if (!isRecord(params)) return undefined;
  const nested = isRecord(params.thread) ? params.thread.id : undefined;
  return [params.threadId, nested, params.conversationId].find((value) => typeof value === "string");
}

/** What names no thread may describe another client's files or commands: it goes to those who may interact. */
function maySee(session: Session, method: string, threadId: string | undefined): boolean {
  if (threadId !== undefined) return session.threads.has(threadId) && session.port.rights.has("observe");
  return (
    session.port.rights.has("interact") || /^(?:skills|account|configWarning|deprecationNotice|warning)/.test(method)
  );
}
