// What was said inside a Session. A delivery key makes a repeated post read the first one.
import { sha256Hex } from "../base/bytes.ts";
import { canonicalJson } from "../base/json.ts";
import { newId } from "../contract/ids.ts";
import { serverLimits } from "./limits.ts";
import { appendEvent, type Moment } from "./sessions.ts";
import type { Database } from "./store.ts";

export const messageKinds = [
  "note",
  "proposal",
  "question",
  "answer",
  "decision",
  "risk",
  "progress",
  "guidance",
  "todo",
] as const;

export interface NewMessage {
  readonly kind: (typeof messageKinds)[number];
  readonly message: string;
  readonly tags: readonly string[];
  readonly reply_to: string | null;
  readonly priority: "low" | "normal" | "high";
  readonly requires_ack: boolean;
}

export interface MessageRow {
  readonly message_id: string;
  readonly session_id: string;
  readonly sequence: number;
  readonly kind: NewMessage["kind"];
  readonly message: string;
  readonly tags: string;
  readonly reply_to: string | null;
  readonly priority: string;
  readonly requires_ack: number;
  readonly payload_digest: string;
  readonly resolved_at: number | null;
  readonly created_at: number;
}

export type Posted =
  | { readonly posted: "new"; readonly row: MessageRow }
  | { readonly posted: "replayed"; readonly row: MessageRow }
  | { readonly posted: "conflict" }
  | { readonly posted: "full" }
  | { readonly posted: "no_such_reply" };

export function postMessage(
  db: Database,
  sessionId: string,
  options: { readonly wanted: NewMessage; readonly deliveryKey: string | null; readonly moment: Moment },
): Posted {
  const { wanted, deliveryKey, moment } = options;
  const digest = sha256Hex(canonicalJson(wanted));
  if (deliveryKey !== null) {
    const earlier = db
      .query<MessageRow, [string, string]>("SELECT * FROM session_messages WHERE session_id = ? AND delivery_key = ?")
      .get(sessionId, deliveryKey);
    if (earlier !== null)
      return earlier.payload_digest === digest ? { posted: "replayed", row: earlier } : { posted: "conflict" };
  }
  const all = messagesOf(db, sessionId);
  if (all.length >= serverLimits.maxMessagesPerSession) return { posted: "full" };
  if (wanted.reply_to !== null && !all.some((row) => row.message_id === wanted.reply_to))
    return { posted: "no_such_reply" };
  const id = newId("message", moment.random);
  db.query(
    `INSERT INTO session_messages (message_id, session_id, sequence, kind, message, tags, reply_to, priority,
       requires_ack, delivery_key, payload_digest, resolved_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)`,
  ).run(
    id,
    sessionId,
    all.length + 1,
    wanted.kind,
    wanted.message,
    JSON.stringify(wanted.tags),
    wanted.reply_to,
    wanted.priority,
    wanted.requires_ack ? 1 : 0,
    deliveryKey,
    digest,
    moment.wallMs,
  );
  if (wanted.kind === "answer" && wanted.reply_to !== null) resolveMessage(db, wanted.reply_to, moment.wallMs);
  appendEvent(db, sessionId, { event: { kind: "message", tool: wanted.kind }, moment });
  return { posted: "new", row: messagesOf(db, sessionId).find((row) => row.message_id === id)! };
}

export function messagesOf(db: Database, sessionId: string): MessageRow[] {
  return db
    .query<MessageRow, [string]>("SELECT * FROM session_messages WHERE session_id = ? ORDER BY sequence")
    .all(sessionId);
}

/** Marks a message as done with; doing it again changes nothing. */
export function resolveMessage(db: Database, messageId: string, wallMs: number): boolean {
  return (
    db
      .query("UPDATE session_messages SET resolved_at = ? WHERE message_id = ? AND resolved_at IS NULL")
      .run(wallMs, messageId).changes > 0
  );
}

/** One message as answers show it. */
export function messageView(row: MessageRow): Record<string, unknown> {
  return {
    message_id: row.message_id,
    session_id: row.session_id,
    kind: row.kind,
    message: row.message,
    tags: JSON.parse(row.tags) as string[],
    reply_to: row.reply_to,
    priority: row.priority,
    requires_ack: row.requires_ack === 1,
    resolved: row.resolved_at !== null,
    created_at: Math.floor(row.created_at / 1000),
  };
}
