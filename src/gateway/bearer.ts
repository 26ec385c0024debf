// The form of a client's bearer: client id, a dot, 64 lower-case hex digits. Decoded bytes are wiped after use.
import { fromHex, sha256Hex } from "../base/bytes.ts";
import { gatewayLimits } from "./limits.ts";

const clientIdForm = /^[A-Za-z0-9_-]{1,64}$/;

export function isClientId(text: string): boolean {
  return clientIdForm.test(text);
}

/** 64 lower-case hex digits as bytes, anything else null. */
export function decodeSecret(text: string): Uint8Array | null {
  return text.length === gatewayLimits.secretBytes * 2 ? fromHex(text) : null;
}

export interface PresentedBearer {
  readonly clientId: string;
  readonly digest: string;
}

/** Splits at the first dot and keeps only the digest of the secret. */
export function readBearer(text: string, watch: (bytes: Uint8Array) => void = () => {}): PresentedBearer | null {
  const dot = text.indexOf(".");
  if (dot < 0) return null;
  const secret = decodeSecret(text.slice(dot + 1));
  if (secret === null) return null;
  watch(secret);
  const digest = sha256Hex(secret);
  secret.fill(0);
  return { clientId: text.slice(0, dot), digest };
}
