// JSON in the exact byte form of Python's writer, because digests and files are shared with programs that use it;
// and a reader that keeps whole numbers of any size, because file identities are larger than a double can hold.
import { hasOnlyAscii } from "./characters.ts";

/** What the reader gives and the writers take; whole numbers beyond 2^53 are bigint. */
export type ExactJson =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly ExactJson[]
  | { readonly [key: string]: ExactJson };

interface Style {
  readonly ascii: boolean;
  readonly sorted: boolean;
  readonly indent: boolean;
}

/** One line, ASCII only: what digests and outbox records are made of. */
export function compactAscii(value: ExactJson, options: { readonly sorted?: boolean } = {}): string {
  return write(value, { ascii: true, sorted: options.sorted ?? false, indent: false }, "");
}

/** One line, text as it is: what commands print. */
export function plainLine(value: ExactJson, options: { readonly sorted?: boolean } = {}): string {
  return write(value, { ascii: false, sorted: options.sorted ?? false, indent: false }, "");
}

/** Two spaces a level and one newline at the end: registry and snapshot files. */
export function prettyText(value: ExactJson): string {
  return `${write(value, { ascii: false, sorted: false, indent: true }, "")}\n`;
}

/** Reads JSON text; undefined when it is none. */
export function parseExact(text: string): ExactJson | undefined {
  try {
    // Numbers a double cannot hold have at least sixteen digits; a text without them needs no second look.
    if (!/[0-9]{16}/.test(text)) return JSON.parse(text) as ExactJson;
    return JSON.parse(text, keepWholeNumbers as (key: string, value: unknown) => unknown) as ExactJson;
  } catch {
    // Malformed or nested too deep: not JSON to any caller.
    return undefined;
  }
}

function keepWholeNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

function write(value: ExactJson, style: Style, margin: string): string {
  if (value === null) return "null";
  if (typeof value === "string") return quote(value, style.ascii);
  if (typeof value === "number") return numberText(value);
  if (typeof value !== "object") return String(value);
  const inner = style.indent ? `${margin}  ` : margin;
  if (isList(value)) {
    return wrap(
      "[]",
      value.map((item) => write(item, style, inner)),
      { style, margin, inner },
    );
  }
  const record = value;
  const keys = Object.keys(record);
  if (style.sorted) keys.sort(byCodePoint);
  const items = keys.map((key) => `${quote(key, style.ascii)}: ${write(record[key]!, style, inner)}`);
  return wrap("{}", items, { style, margin, inner });
}

function isList(value: object): value is readonly ExactJson[] {
  return Array.isArray(value);
}

function wrap(
  brackets: string,
  items: readonly string[],
  place: { readonly style: Style; readonly margin: string; readonly inner: string },
): string {
  if (items.length === 0) return brackets;
  if (!place.style.indent) return brackets[0] + items.join(", ") + brackets[1];
  return `${brackets[0]}\n${place.inner}${items.join(`,\n${place.inner}`)}\n${place.margin}${brackets[1]}`;
}

/** Python's shortest form: an exponent of two digits at least, and from 1e16 on instead of 1e21. */
function numberText(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? "-0.0" : String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  const [digits, exponent] = value.toExponential().split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 16) {
    const plain = value.toString();
    const fixed = plain.includes("e") ? value.toFixed(digits.replace(/^-?\d\.?/, "").length - power) : plain;
    return fixed.includes(".") ? fixed : `${fixed}.0`;
  }
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function quote(text: string, ascii: boolean): string {
  // JSON.stringify has Python's short escapes; what is left are the characters Python writes otherwise.
  const quoted = JSON.stringify(text);
  if (!ascii || hasOnlyAscii(quoted)) return quoted;
  return quoted.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** No list is made of either text: the first one of a process costs more than the whole record. */
function byCodePoint(left: string, right: string): number {
  let at = 0;
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at += 1;
  // Where either text has the second half of a pair, the pairs differ and not their halves.
  const isSecondHalf = (unit: number) => (unit & 0xfc00) === 0xdc00;
  const halves = isSecondHalf(left.charCodeAt(at)) || isSecondHalf(right.charCodeAt(at));
  if (halves && at > 0 && (left.charCodeAt(at - 1) & 0xfc00) === 0xd800) at -= 1;
  return (left.codePointAt(at) ?? -1) - (right.codePointAt(at) ?? -1);
}
