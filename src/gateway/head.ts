// Reads one request head strictly: CRLF only, token names, visible targets, HTTP/1.1. No folding, no leniency.
import { gatewayLimits } from "./limits.ts";

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** Names in lower case, values trimmed of blanks, in order, repeats kept. */
  readonly headers: ReadonlyArray<readonly [string, string]>;
  /** Bytes up to and with the empty line. */
  readonly length: number;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const requestLine = /^([A-Z]+) ([!-~]+) HTTP\/1\.1$/;

/** The head, null while its end is missing, or "malformed". */
export function parseHead(bytes: Buffer): RequestHead | null | "malformed" {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const text = bytes.toString("latin1", 0, end);
  if (/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text)) return "malformed";
  const lines = text.split("\r\n");
  const first = requestLine.exec(lines[0]!);
  if (first === null || lines.length - 1 > gatewayLimits.maxHeaders) return "malformed";
  const headers: Array<readonly [string, string]> = [];
  for (const line of lines.slice(1)) {
    if (/[\r\n]/.test(line)) return "malformed";
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0));
    if (!token.test(name)) return "malformed";
    headers.push([name.toLowerCase(), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "")]);
  }
  return { method: first[1]!, target: first[2]!, headers, length: end + 4 };
}
