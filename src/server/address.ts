// Where the server may listen: a numeric loopback address and a port, nothing else.
import { Failure } from "../base/failure.ts";
import type { ServerCode } from "./codes.ts";

export interface ListenAddress {
  readonly host: "127.0.0.1" | "::1";
  readonly port: number;
}

/** Reads `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`. */
export function parseAddress(text: string): ListenAddress {
  const found = /^(127\.0\.0\.1|localhost|\[::1\]):(0|[1-9][0-9]{0,4})$/.exec(text);
  const port = Number(found?.[2] ?? "65536");
  if (found === null || port > 65_535) throw new Failure<ServerCode>("server_address_invalid");
  return { host: found[1] === "[::1]" ? "::1" : "127.0.0.1", port };
}

/** The Host values a request may carry: names of this machine's loopback with exactly our port. */
export function localHosts(port: number): ReadonlySet<string> {
  return new Set([`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]);
}
