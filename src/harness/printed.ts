// Looks for the run's credentials in what programs print and answer, before those bytes are reduced and dropped.
// What is kept is which credential in which channel, never a byte of it.
import { canaryForms } from "../judge/privacy.ts";
import type { Run } from "./run.ts";

/** The part of a run this needs. */
export type PrintedWatch = Pick<Run, "canaries" | "printed">;

/** Notes each credential once a channel. */
export function notePrinted(run: PrintedWatch, channel: string, bytes: Uint8Array): void {
  const credentials = run.canaries.filter((canary) => canary.where === "credential");
  if (credentials.length === 0 || bytes.length === 0) return;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  for (const { id, text: secret } of credentials) {
    if (run.printed.length >= 200 || run.printed.some((one) => one.id === id && one.channel === channel)) continue;
    const forms = canaryForms(new TextEncoder().encode(secret));
    if (forms.some(([, form]) => text.includes(form))) run.printed.push({ id, channel });
  }
}

/** A stream's pieces as one text: the end of each is looked at again together with the next. */
export function printedStream(run: PrintedWatch, channel: string): (chunk: Uint8Array) => void {
  let tail: Uint8Array = new Uint8Array(0);
  return (chunk) => {
    const joined = Buffer.concat([tail, chunk]);
    notePrinted(run, channel, joined);
    tail = joined.subarray(Math.max(0, joined.length - overlapBytes));
  };
}

/** Longer than any written form of a credential. */
const overlapBytes = 1024;
