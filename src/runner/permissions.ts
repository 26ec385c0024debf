// Permission requests of the agent: shown, waited for, and always answered "cancelled". Nothing is ever approved.
import { isRecord } from "../base/json.ts";
import type { UpdateEvent } from "../contract/acp.ts";

/** The only answer a runner gives. */
export const cancelledOutcome = { outcome: { outcome: "cancelled" } } as const;

/** The event that shows the request, or null when it is malformed. */
export function readPermission(params: unknown): UpdateEvent | null {
  if (!isRecord(params) || !isRecord(params.toolCall) || !Array.isArray(params.options)) return null;
  const title = params.toolCall.title;
  return {
    kind: "permission_request",
    status: `pending:${params.options.length}_options`,
    ...(typeof title === "string" ? { label: title } : {}),
  };
}

/** Requests that are still open; each is answered once, by its own time-out or by a stop. */
export class PendingPermissions {
  readonly #open = new Map<symbol, { readonly timer: ReturnType<typeof setTimeout>; readonly answer: () => void }>();

  get count(): number {
    return this.#open.size;
  }

  add(timeoutMs: number, answer: () => void): void {
    const key = Symbol();
    const once = () => {
      if (this.#open.delete(key)) answer();
    };
    this.#open.set(key, { timer: setTimeout(once, timeoutMs), answer: once });
  }

  /** Answers all of them now. */
  cancelAll(): void {
    for (const { timer, answer } of [...this.#open.values()]) {
      clearTimeout(timer);
      answer();
    }
  }
}
