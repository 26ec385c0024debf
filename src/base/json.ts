// JSON read without throwing and written in one fixed form.
import { decodeUtf8 } from "./bytes.ts";

/** The value, or undefined when the text is not JSON or the bytes are not UTF-8. */
export function parseJson(input: string | Uint8Array): unknown | undefined {
  const text = typeof input === "string" ? input : decodeUtf8(input);
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Malformed text and text nested too deep are the same to every caller: not JSON.
    return undefined;
  }
}

/** True for a JSON object (no array, no null). */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Compact JSON with sorted keys: equal values give equal text. Members that are undefined are left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .sort()
    .filter((key) => value[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${members.join(",")}}`;
}
