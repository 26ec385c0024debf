// How the records of an audit file hang together. Every writer's records form a segment: each hash covers the one
// before it and the record's own bytes, and the first covers all that stood in the file when the writer opened it.
// It finds edits, losses in the middle and swaps; a cut at the very end shows as a missing last event.

import { sha256Hex } from "../base/bytes.ts";

const mark = ',"chain":"';
const closing = '"}';

/** What the first record of a segment follows: everything that was in the file before. */
export function chainStart(before: Uint8Array): string {
  return sha256Hex(before);
}

/** The record as one line without newline, with its hash as last field. */
export function chainedLine(previous: string, record: string): { readonly line: string; readonly chain: string } {
  const body = record.slice(0, -1);
  const chain = sha256Hex(`${previous}\n${body}`);
  return { line: `${body}${mark}${chain}${closing}`, chain };
}

/** Takes a line apart; null when it does not end in a hash. */
export function splitChained(line: string): { readonly body: string; readonly chain: string } | null {
  const at = line.length - closing.length - 64 - mark.length;
  if (at < 1 || !line.endsWith(closing) || line.slice(at, at + mark.length) !== mark) return null;
  const chain = line.slice(at + mark.length, -closing.length);
  return /^[0-9a-f]{64}$/.test(chain) ? { body: line.slice(0, at), chain } : null;
}

/** Whether `chain` is the hash of this body after `previous`. */
export function followsFrom(previous: string, part: { readonly body: string; readonly chain: string }): boolean {
  return sha256Hex(`${previous}\n${part.body}`) === part.chain;
}
