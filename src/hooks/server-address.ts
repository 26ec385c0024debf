// Which server an operator may name: an https origin, or plain http on this machine. The host is judged as it is
// spelled, because URL parsers turn other spellings into loopback addresses.
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";

const origin = /^(https?):\/\/(\[[0-9a-f:.]+\]|[^\s/?#@:[\]\\]+)(?::([0-9]{1,5}))?\/?$/i;
const loopback = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Throws unless `url` is an origin that may carry a credential. */
export function requireServerOrigin(url: string): void {
  const parts = origin.exec(url);
  const port = parts?.[3];
  const known = parts !== null && (port === undefined || Number(port) <= 65_535);
  if (!known || (parts[1]!.toLowerCase() === "http" && !loopback.has(parts[2]!.toLowerCase()))) {
    throw new Failure<HooksCode>("https_or_loopback_origin_required");
  }
}

/** The address of one route of the server. */
export function routeUrl(serverUrl: string, route: string): string {
  return serverUrl.replace(/\/+$/, "") + route;
}
