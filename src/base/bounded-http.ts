// One HTTP request with a total deadline and a bound that is checked before bytes are kept. It uses no proxy, follows
// no redirect and takes no certificate that does not hold, whatever the environment says: the runtime's fetch obeys
// its variables, so http and https go over a socket of our own, one request a connection.

import { Failure } from "./failure.ts";
import { HttpAnswerReader } from "./http-answer.ts";

export interface HttpRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** For everything, connecting included. */
  readonly timeoutMs: number;
  /** For the body of the answer. */
  readonly maxBytes: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; repeated ones joined by ", ". */
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/** Fails with http_timeout, http_result_limit, http_unreachable or http_malformed; any status is an answer. */
export async function httpRequest(request: HttpRequest): Promise<HttpAnswer> {
  const url = URL.canParse(request.url) ? new URL(request.url) : null;
  if (url === null || url.username !== "" || url.password !== "") throw new Failure("http_unreachable");
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new Failure("http_unreachable");
  return await overSocket(url, request);
}

async function overSocket(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  const answer = Promise.withResolvers<HttpAnswer>();
  const reader = new HttpAnswerReader({ maxBytes: request.maxBytes, headOnly: request.method === "HEAD" });
  let unsent = requestBytes(url, request);
  const write = (socket: Bun.Socket): void => {
    if (unsent.byteLength > 0) unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
  };
  const settle = (read: () => HttpAnswer | null): void => {
    try {
      const done = read();
      if (done !== null) answer.resolve(done);
    } catch (error) {
      answer.reject(error);
    }
  };
  const unreachable = (): void => answer.reject(new Failure("http_unreachable"));
  const secure = url.protocol === "https:";
  const connecting = connect(url, {
    open: (socket) => {
      if (!secure) write(socket);
    },
    // Nothing of the request leaves before the certificate and its name have been checked.
    handshake: (socket, trusted) => (trusted ? write(socket) : unreachable()),
    drain: (socket) => {
      if (!secure || socket.authorized) write(socket);
    },
    data: (_socket, bytes) => settle(() => reader.push(bytes)),
    end: () => settle(() => reader.end()),
    close: () => settle(() => reader.end()),
    error: unreachable,
    connectError: unreachable,
  });
  connecting.catch(unreachable);
  // From here on somebody waits for the answer, so that no refusal of it is left to nobody.
  const timer = setTimeout(() => answer.reject(new Failure("http_timeout")), request.timeoutMs);
  try {
    return await answer.promise;
  } finally {
    clearTimeout(timer);
    // Also a socket that connects only after the deadline is closed.
    void connecting.then((socket) => socket.terminate()).catch(() => undefined);
  }
}

async function connect(url: URL, socket: Bun.SocketHandler<undefined>): Promise<Bun.Socket> {
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  const secure = url.protocol === "https:";
  const port = Number(url.port || (secure ? 443 : 80));
  const tls = { serverName: hostname, rejectUnauthorized: true };
  return await Bun.connect({ hostname, port, socket, ...(secure ? { tls } : {}) });
}

function requestBytes(url: URL, request: HttpRequest): Uint8Array {
  const body = typeof request.body === "string" ? Buffer.from(request.body) : (request.body ?? new Uint8Array(0));
  if (!/^[A-Z]+$/.test(request.method)) throw new Failure("http_malformed");
  const lines = [`${request.method} ${url.pathname}${url.search} HTTP/1.1`, `host: ${url.host}`, "connection: close"];
  for (const [name, value] of Object.entries(request.headers)) {
    // A line end in a value would let it write headers of its own.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[\r\n\0]/.test(value)) throw new Failure("http_malformed");
    if (!/^(host|connection|content-length|transfer-encoding)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  if (request.body !== undefined || !/^(GET|HEAD)$/.test(request.method)) {
    lines.push(`content-length: ${body.byteLength}`);
  }
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}
