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

/** True when a text that is JSON nests deeper than the upstream's parser goes. Counts brackets outside of strings. */
export function nestsDeeper(text: string): boolean {
  if (text.length < 2 * gatewayLimits.maxJsonDepth) return false; // each level costs two characters
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > gatewayLimits.maxJsonDepth) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** Where the string that begins at `from` ends: at the first quote after an even number of backslashes. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/**
 * An answer as our upstream writes it, taken apart without being parsed: its id, and all after the id. Only for texts of
 * the upstream; a client's text is always parsed and written anew, since two parsers may read a repeated key in two ways.
 */
export function splitAnswer(text: string): { readonly id: number; readonly tail: string } | null {
  if (!text.startsWith('{"id":') || !text.endsWith("}")) return null;
  let id = 0;
  let at = 6;
  for (let code = text.charCodeAt(at); code >= 0x30 && code <= 0x39; code = text.charCodeAt(++at))
    id = id * 10 + code - 0x30;
  const canonical = at > 6 && at <= 21 && (text.charCodeAt(6) !== 0x30 || at === 7);
  if (!canonical || !(text.startsWith(',"result":', at) || text.startsWith(',"error":', at))) return null;
  return { id, tail: text.slice(at) };
}
