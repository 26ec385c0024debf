// Reads one JSON body: bounded by bytes, by time and by depth, decoded strictly, duplicates of nothing assumed.
import { concatBytes, decodeUtf8 } from "../base/bytes.ts";
import { parseJson } from "../base/json.ts";
import { serverLimits } from "./limits.ts";

export type Body =
  | { readonly read: "json"; readonly value: unknown }
  | { readonly read: "too_large" | "too_slow" | "not_json" | "not_utf8" | "too_deep" };

/** The body as JSON, or why not. A caller that stalls is given up after the time bound. */
export async function readJsonBody(request: Request): Promise<Body> {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > serverLimits.maxBodyBytes) return { read: "too_large" };
  const bytes = await readBounded(request);
  if (typeof bytes === "string") return { read: bytes };
  const text = decodeUtf8(bytes);
  if (text === null) return { read: "not_utf8" };
  if (tooDeep(text)) return { read: "too_deep" };
  const value = parseJson(text);
  return value === undefined ? { read: "not_json" } : { read: "json", value };
}

async function readBounded(request: Request): Promise<Uint8Array | "too_large" | "too_slow"> {
  // A small declared length is kept by the listener itself, so the body may be taken whole.
  if (Number(request.headers.get("content-length") ?? "0") > 0) return wholeWithin(request);
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const parts: Uint8Array[] = [];
  let total = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), serverLimits.bodyTimeoutMs);
  });
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), late]);
      if (next === "late") return "too_slow";
      if (next.done) return concatBytes(parts);
      total += next.value.length;
      if (total > serverLimits.maxBodyBytes) return "too_large";
      parts.push(next.value);
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => undefined); // The caller may be gone; there is nothing left to tell it.
  }
}

async function wholeWithin(request: Request): Promise<Uint8Array | "too_slow"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"too_slow">((resolve) => {
    timer = setTimeout(() => resolve("too_slow"), serverLimits.bodyTimeoutMs);
  });
  try {
    return await Promise.race([request.bytes(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Counts brackets outside strings, so that a hostile depth never reaches a recursive reader. */
function tooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === 0x5c) index += 1;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      if (depth > serverLimits.maxJsonDepth) return true;
    } else if (unit === 0x7d || unit === 0x5d) depth -= 1;
  }
  return false;
}
