// Reads what app-server messages are about. Pure; shapes are taken as they come and nothing is trusted to be there.
import { isRecord } from "../base/json.ts";
import { gatewayLimits } from "./limits.ts";

export type MessageId = string | number;

export function isId(value: unknown): value is MessageId {
  return typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));
}

export function isParams(value: unknown): boolean {
  return value === null || typeof value === "object";
}

/** A key under which 7 and "7" are two ids. */
export function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? "";
}

/** The thread a message is about, wherever the dialect puts it. */
export function threadOf(params: unknown): string | undefined {
  if (!isRecord(params)) return undefined;
  if (typeof params.threadId === "string") return params.threadId;
  if (isRecord(params.thread) && typeof params.thread.id === "string") return params.thread.id;
  return typeof params.conversationId === "string" ? params.conversationId : undefined;
}

/** True when `value`, read from `text`, nests deeper than the upstream's parser goes. Looked at without recursion. */
export function nestsDeeper(value: unknown, text: string): boolean {
  if (text.length < 2 * gatewayLimits.maxJsonDepth) return false; // each level costs two characters
  let level = [value].filter(isNested);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > gatewayLimits.maxJsonDepth) return true;
    level = level.flatMap((one) => Object.values(one).filter(isNested));
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const plainAnswer = /^\{"id":(0|[1-9][0-9]{0,14}),"(?:result|error)":/;

/**
 * An answer as our upstream writes it, taken apart without being parsed: its id, and all after the id. Only for texts of
 * the upstream; a client's text is always parsed and written anew, since two parsers may read a repeated key in two ways.
 */
export function splitAnswer(text: string): { readonly id: number; readonly tail: string } | null {
  const found = plainAnswer.exec(text);
  if (found === null || !text.endsWith("}")) return null;
  const digits = found[1]!;
  return { id: Number(digits), tail: text.slice(6 + digits.length) };
}
