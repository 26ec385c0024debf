// Where a reader of a run stands: an opaque, authenticated cursor. It says from which process it came, so that one of
// an earlier process is stale and not wrong; one of another run, or altered, is refused.
import { join } from "node:path";
import { concatBytes, equalBytes, fromBase64Url, toBase64Url, utf8 } from "../base/bytes.ts";
import { codeOf } from "../base/failure.ts";
import { createPrivateFile, readPrivateFile } from "../base/private-files.ts";
import type { RandomBytes } from "../base/random.ts";

const prefix = "wcar3_";
const macBytes = 17;

export type TokenReading =
  | { readonly token: "valid"; readonly after: number }
  | { readonly token: "stale" }
  | { readonly token: "invalid" };

/** The key outlives the process; it is made on first use. */
export function observationKey(folder: string, random: RandomBytes): Uint8Array {
  const path = join(folder, "coding-agent-observation-mac-key-v2");
  try {
    return readPrivateFile(path, { maxBytes: 64 });
  } catch (error) {
    if (codeOf(error) !== "private_file_missing") throw error;
    const key = random(32);
    createPrivateFile(path, key);
    return key;
  }
}

interface Place {
  readonly runId: string;
  readonly epoch: Uint8Array;
  readonly key: Uint8Array;
}

export function writeToken(place: Place, after: number): string {
  const sequence = new Uint8Array(7);
  for (let at = 6, left = after; at >= 0; at -= 1, left = Math.floor(left / 256)) sequence[at] = left % 256;
  const body = concatBytes([place.epoch, sequence]);
  return prefix + toBase64Url(concatBytes([body, mac(place, body)]));
}

export function readToken(place: Place, token: string): TokenReading {
  const bytes = token.startsWith(prefix) && token.length <= 54 ? fromBase64Url(token.slice(prefix.length)) : null;
  if (bytes === null || bytes.length !== 19 + macBytes) return { token: "invalid" };
  const body = bytes.slice(0, 19);
  if (!equalBytes(bytes.slice(19), mac(place, body))) return { token: "invalid" };
  if (!equalBytes(body.slice(0, 12), place.epoch)) return { token: "stale" };
  return { token: "valid", after: body.slice(12).reduce((sum, byte) => sum * 256 + byte, 0) };
}

function mac(place: Place, body: Uint8Array): Uint8Array {
  const hasher = new Bun.CryptoHasher("sha256", Buffer.from(place.key));
  const digest = hasher.update(concatBytes([utf8(`${place.runId}\0`), body])).digest();
  return new Uint8Array(digest).slice(0, macBytes);
}
