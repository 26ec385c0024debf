// Many clients in front of one upstream: an id space each, rights by method, one controller a thread, and
// notifications only to those who follow the thread they are about.
import { type Clock, systemClock } from "../base/clock.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { carriesCredential } from "./application-secrets.ts";
import { Approvals } from "./approvals.ts";
import type { AuditLog } from "./audit-log.ts";
import { joinedTextFrame, textFrame } from "./frame-writer.ts";
import { Leases } from "./lease.ts";
import { isId, isParams, type MessageId, nestsDeeper, splitAnswer, threadOf } from "./messages.ts";
import { followsThread, needsLease, rightFor } from "./method-table.ts";
import type { Permission } from "./permissions.ts";
import { errorMessage, type MessageError } from "./refusals.ts";
import { Account, type ClientPort, Session } from "./session.ts";
import type { OpenUpstream, UpstreamLink } from "./upstream.ts";

export interface CoordinatorOptions {
  readonly upstream: OpenUpstream;
  readonly clientHome: string;
  readonly allowedMethods?: ReadonlyMap<string, Permission>;
  readonly clock?: Clock;
  readonly leaseMs?: number;
  readonly approvalWaitMs?: number;
  readonly maxPendingBytes?: number;
  readonly audit?: AuditLog;
}

interface Call {
  readonly session: Session | null;
  readonly id: MessageId;
  readonly method: string;
  readonly threadId: string | undefined;
  /** What it holds of its client's account. */
  readonly bytes: number;
  readonly done?: (answer: Record<string, unknown>) => void;
}

const upstreamEnded = { error: { code: -32000, message: "upstream ended", data: { name: "busy" } } };

export class Coordinator {
  readonly #options: CoordinatorOptions;
  clientHome: string;
  readonly #sessions = new Set<Session>();
  readonly #accounts = new Map<string, Account>();
  readonly #calls = new Map<number, Call>();
  readonly #approvals: Approvals;
  readonly leases: Leases<Session>;
  #nextId = 1;
  #opening: Promise<UpstreamLink> | null = null;
  #link: UpstreamLink | null = null;
  #hello: Promise<Record<string, unknown>> | null = null;
  #status: unknown = { status: "disabled", serverName: "proctor", installationId: null, environmentId: null };

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.clientHome = options.clientHome;
    this.#approvals = new Approvals({
      sessions: this.#sessions,
      tell: (message) => this.#tell(message),
      ...(options.approvalWaitMs === undefined ? {} : { waitMs: options.approvalWaitMs }),
    });
    this.leases = new Leases({
      clock: options.clock ?? systemClock,
      ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
    });
  }

  attach(port: ClientPort): Session {
    const account = this.#accounts.get(port.clientId) ?? new Account(this.#options.maxPendingBytes);
    this.#accounts.set(port.clientId, account);
    const session = new Session(port, account);
    this.#sessions.add(session);
    return session;
  }

  /** The client is gone: its lease is free, its calls are nobody's, its approvals wait for another. */
  detach(session: Session): void {
    if (!this.#sessions.delete(session)) return;
    this.leases.releaseAll(session);
    this.#approvals.reconsider();
  }

  /** Calls by client id and class of method. */
  counts(): Record<string, Record<string, number>> {
    return Object.fromEntries([...this.#accounts].map(([clientId, account]) => [clientId, account.counts]));
  }

  /** One text message of a client. Never throws for what the client sent. */
  receive(session: Session, text: string): undefined {
    const message = parseJson(text);
    if (message === undefined) return this.#refuse(session, null, "parse_error");
    const id = isRecord(message) ? message.id : undefined;
    if (nestsDeeper(text)) return this.#refuse(session, id, "invalid_request");
    if (carriesCredential(message, text)) return this.#refuse(session, id, "unauthenticated");
    if (!isRecord(message)) return this.#refuse(session, null, "invalid_request");
    if (!("method" in message)) return this.#answer(session, message);
    if (typeof message.method !== "string" || ("params" in message && !isParams(message.params)))
      return this.#refuse(session, id, "invalid_request");
    if (!("id" in message)) return this.#notification(session, message.method);
    if (!isId(id)) return this.#refuse(session, null, "invalid_request");
    this.#call(session, { id, method: message.method, params: isRecord(message.params) ? message.params : undefined });
  }

  #notification(session: Session, method: string): undefined {
    if (method === "initialized" && session.initialized) session.attached = true;
  }

  #answer(session: Session, message: Record<string, unknown>): undefined {
    const fault = this.#approvals.answer(session, message);
    if (fault !== null) this.#refuse(session, message.id, fault);
  }

  #call(
    session: Session,
    call: { id: MessageId; method: string; params: Record<string, unknown> | undefined },
  ): undefined {
    const { id, method } = call;
    if (method === "initialize") return void this.#initialize(session, id);
    const right = rightFor(method, this.#options.allowedMethods);
    session.account.count(right ?? "unknown");
    if (right === undefined || !session.initialized) return this.#refuse(session, id, "invalid_request", method);
    if (!session.port.rights.has(right)) return this.#refuse(session, id, "unauthorized", method);
    const threadId = threadOf(call.params);
    if (threadId !== undefined && needsLease(method, right) && !this.leases.claim(threadId, session))
      return this.#refuse(session, id, "controller_required", method);
    if (method === "thread/unsubscribe" && threadId !== undefined && this.#leave(session, threadId))
      return void session.say(JSON.stringify({ id, result: { status: "unsubscribed" } }));
    const own = this.#nextId++;
    // Who attaches by resuming and does not control the thread must not change its settings on the way.
    const plain = method === "thread/resume" && threadId !== undefined && !this.#mayControl(session, threadId);
    const text = JSON.stringify({ id: own, method, params: plain ? { threadId } : call.params });
    const bytes = Buffer.byteLength(text);
    if (!session.account.take(bytes)) return this.#refuse(session, id, "busy", method);
    this.#calls.set(own, { session, id, method, threadId, bytes });
    this.#forward(own, text);
  }

  #mayControl(session: Session, threadId: string): boolean {
    const holder = this.leases.holderOf(threadId);
    return session.port.rights.has("interact") && (holder === undefined || holder === session);
  }

  /** One client stops following; true while others follow, who share the upstream's one subscription. */
  #leave(session: Session, threadId: string): boolean {
    session.threads.delete(threadId);
    this.leases.release(threadId, session);
    return [...this.#sessions].some((other) => other.threads.has(threadId));
  }

  async #initialize(session: Session, id: MessageId): Promise<undefined> {
    if (session.initialized) return this.#refuse(session, id, "invalid_request");
    session.initialized = true;
    try {
      const result = await this.#upstreamHello();
      session.say(JSON.stringify({ id, result: { ...result, codexHome: this.clientHome } }));
      session.say(JSON.stringify({ method: "remoteControl/status/changed", params: this.#status }));
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
      const own = this.#nextId++;
      this.#calls.set(own, { session: null, id: own, method: "initialize", threadId: undefined, bytes: 0, done });
      this.#forward(own, JSON.stringify({ id: own, method: "initialize", params }));
    });
    this.#hello.then(
      () => this.#tell({ method: "initialized" }),
      () => {
        this.#hello = null;
      },
    );
    return this.#hello;
  }

  /** Sends the text of call `own`; one that cannot be sent is answered as an upstream that ended. */
  #forward(own: number, text: string): void {
    if (this.#link === null) {
      this.#open()
        .then((link) => link.send(text))
        .catch(() => this.#settle(own, upstreamEnded));
      return;
    }
    try {
      this.#link.send(text);
    } catch {
      this.#settle(own, upstreamEnded);
    }
  }

  #open(): Promise<UpstreamLink> {
    this.#opening ??= this.#options
      .upstream({ message: (text) => this.#fromUpstream(text), closed: () => this.#upstreamClosed() })
      .then(
        (link) => {
          this.#link = link;
          return link;
        },
        (error: unknown) => {
          this.#opening = null;
          throw error;
        },
      );
    return this.#opening;
  }

  /** Says something of the gateway's own, or a client's answer; without an upstream there is nobody to say it to. */
  #tell(message: unknown): void {
    try {
      this.#link?.send(JSON.stringify(message));
    } catch {
      this.#upstreamClosed(); // what cannot be written to has ended
    }
  }

  #fromUpstream(text: string): void {
    const split = splitAnswer(text);
    const call = split === null ? undefined : this.#calls.get(split.id);
    // Most answers only change their id on the way; one that leads to a thread is read.
    if (split !== null && call?.session != null && !followsThread(call.method)) {
      this.#close(split.id, call);
      if (this.#sessions.has(call.session)) call.session.port.send(answerFrame(call.id, split.tail));
      return;
    }
    const message = parseJson(text);
    if (!isRecord(message)) return;
    if (typeof message.method === "string") this.#spoken(message, message.method, text);
    else if (typeof message.id === "number") this.#settle(message.id, message);
  }

  /** A request or notification of the upstream. */
  #spoken(message: Record<string, unknown>, method: string, text: string): void {
    const threadId = threadOf(message.params);
    if (isId(message.id)) {
      this.#approvals.ask({ id: message.id, threadId, text });
      return;
    }
    if (method === "remoteControl/status/changed") this.#status = message.params;
    if (threadId !== undefined) this.leases.renew(threadId);
    if (method === "serverRequest/resolved" && isRecord(message.params))
      this.#approvals.settle(message.params.requestId);
    if (method === "thread/closed") this.#approvals.settleThread(threadId);
    let bytes: Buffer | null = null; // encoded once for all who see it
    for (const session of this.#sessions) {
      if (!session.attached || !maySee(session, method, threadId)) continue;
      bytes ??= textFrame(text);
      session.port.send(bytes);
    }
  }

  #close(own: number, call: Call): void {
    this.#calls.delete(own);
    call.session?.account.giveBack(call.bytes);
  }

  #settle(own: number, answer: Record<string, unknown>): void {
    const call = this.#calls.get(own);
    if (call === undefined) return;
    this.#close(own, call);
    call.done?.(answer);
    const { session } = call;
    if (session === null || !this.#sessions.has(session)) return;
    const body = "error" in answer ? { error: answer.error } : { result: answer.result ?? null };
    session.say(JSON.stringify({ id: call.id, ...body }));
    if (!("error" in answer)) this.#follow(session, call, answer.result);
  }

  /** A client follows a thread it started, read, resumed or forked; what waits for approval comes after that. */
  #follow(session: Session, call: Call, result: unknown): void {
    if (!followsThread(call.method)) return;
    const threadId = threadOf(result) ?? call.threadId;
    if (threadId === undefined) return;
    session.threads.add(threadId);
    if (call.method !== "thread/read") this.#approvals.replay(session, threadId);
  }

  /** Pending calls are answered, clients are told to come again; the next one opens a new upstream. */
  #upstreamClosed(): void {
    if (this.#opening === null) return;
    this.#opening = null;
    this.#link = null;
    this.#hello = null;
    this.#options.audit?.note({ event: "upstream", reason: "closed" });
    for (const own of [...this.#calls.keys()]) this.#settle(own, upstreamEnded);
    this.#approvals.clear();
    this.leases.clear();
    for (const session of [...this.#sessions]) session.port.close(1013);
  }

  /** Ends the runtime; false when it is still there. */
  async close(): Promise<boolean> {
    const opening = this.#opening;
    this.#opening = null;
    this.#link = null;
    this.#approvals.clear();
    if (opening === null) return true;
    return await opening.then((open) => open.close()).catch(() => false);
  }

  #refuse(session: Session, id: unknown, name: MessageError, method?: string): undefined {
    const reason = { event: "message_refused", client: session.port.clientId, reason: name } as const;
    this.#options.audit?.note(method === undefined ? reason : { ...reason, method });
    session.say(errorMessage(isId(id) ? id : null, name));
  }
}

/** An answer under the client's own id. */
function answerFrame(id: MessageId, tail: string): Buffer {
  return typeof id === "number"
    ? joinedTextFrame(`{"id":${id}`, tail)
    : textFrame(`{"id":${JSON.stringify(id)}${tail}`);
}

/** What names no thread may describe another client's files or commands: it goes to those who may interact. */
function maySee(session: Session, method: string, threadId: string | undefined): boolean {
  if (threadId !== undefined) return session.threads.has(threadId) && session.port.rights.has("observe");
  return (
    session.port.rights.has("interact") || /^(?:skills|account|configWarning|deprecationNotice|warning)/.test(method)
  );
}
