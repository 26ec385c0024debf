// Requests of the app-server that a client has to answer. Each goes to those who follow its thread and may approve,
// is shown again after a resume, is settled by one answer, and is failed after the named time with nobody to ask.
import { gatewayLimits } from "./limits.ts";
import { isId, keyOf, type MessageId } from "./messages.ts";
import type { MessageError } from "./refusals.ts";
import type { Session } from "./session.ts";

interface Approval {
  readonly id: MessageId;
  readonly threadId: string;
  readonly text: string;
  timer: ReturnType<typeof setTimeout> | null;
}

export interface ApprovalsOptions {
  readonly sessions: ReadonlySet<Session>;
  /** Says something to the upstream. */
  readonly tell: (message: unknown) => void;
  readonly waitMs?: number;
}

export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #open = new Map<string, Approval>();

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** A new request; one that names no thread, or one too many, is failed at once. */
  ask(request: { id: MessageId; threadId: string | undefined; text: string }): void {
    const { id, threadId, text } = request;
    if (threadId === undefined || this.#open.size >= gatewayLimits.maxPendingApprovals) {
      this.#fail(id);
      return;
    }
    const approval: Approval = { id, threadId, text, timer: null };
    this.#open.set(keyOf(id), approval);
    for (const session of this.#options.sessions) if (session.threads.has(threadId)) this.#offer(session, approval);
    this.#armExpiry(approval);
  }

  /** What waits on a thread, shown to a client that has just begun to follow it. */
  replay(session: Session, threadId: string): void {
    for (const approval of this.#open.values()) if (approval.threadId === threadId) this.#offer(session, approval);
  }

  /** A client's answer: null when it counted, else why it did not. */
  answer(session: Session, message: Record<string, unknown>): MessageError | null {
    const { id } = message;
    if (!isId(id) || "result" in message === "error" in message) return "invalid_request";
    if (!session.port.rights.has("approve")) return "unauthorized";
    if (!session.waiting.has(keyOf(id)) || !this.#open.has(keyOf(id))) return "invalid_request";
    this.settle(id);
    this.#options.tell("error" in message ? { id, error: message.error } : { id, result: message.result });
    return null;
  }

  /** The request is answered or withdrawn: nobody may answer it any more. */
  settle(id: unknown): void {
    const key = keyOf(id);
    const approval = this.#open.get(key);
    if (approval?.timer != null) clearTimeout(approval.timer);
    this.#open.delete(key);
    for (const session of this.#options.sessions) session.waiting.delete(key);
  }

  settleThread(threadId: string | undefined): void {
    for (const approval of [...this.#open.values()]) if (approval.threadId === threadId) this.settle(approval.id);
  }

  /** After a client has left: what nobody may answer now begins to expire. */
  reconsider(): void {
    for (const approval of this.#open.values()) this.#armExpiry(approval);
  }

  clear(): void {
    for (const approval of [...this.#open.values()]) this.settle(approval.id);
  }

  #offer(session: Session, approval: Approval): void {
    if (!session.port.rights.has("approve") || session.waiting.has(keyOf(approval.id))) return;
    session.waiting.add(keyOf(approval.id));
    session.say(approval.text);
    if (approval.timer !== null) clearTimeout(approval.timer);
    approval.timer = null;
  }

  #armExpiry(approval: Approval): void {
    const key = keyOf(approval.id);
    const answerable = [...this.#options.sessions].some((session) => session.waiting.has(key));
    if (answerable || approval.timer !== null) return;
    approval.timer = setTimeout(() => {
      this.settle(approval.id);
      this.#fail(approval.id);
    }, this.#options.waitMs ?? gatewayLimits.approvalWaitMs);
  }

  #fail(id: MessageId): void {
    this.#options.tell({ id, error: { code: -32000, message: "no client may answer", data: { name: "busy" } } });
  }
}
