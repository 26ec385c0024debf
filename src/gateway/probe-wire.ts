// How the probe reaches an endpoint: loopback TCP or a Unix socket, bytes out, and what came back until a named time.
import { connect, type Socket } from "node:net";
import { holdsWithin } from "../base/clock.ts";
import { Failure } from "../base/failure.ts";
import type { GatewayCode } from "./codes.ts";

export interface Target {
  readonly host: string;
  readonly port?: number;
  readonly path?: string;
}

/** `ws://127.0.0.1:PORT/` or `unix:PATH`; nothing beyond this machine is attacked. */
export function targetOf(address: string): Target {
  const port = /^ws:\/\/127\.0\.0\.1:([1-9][0-9]{0,4})\/?$/.exec(address)?.[1];
  if (port !== undefined && Number(port) < 65536) return { host: `127.0.0.1:${port}`, port: Number(port) };
  if (/^unix:\/[!-~]+$/.test(address)) return { host: "localhost", path: address.slice(5) };
  throw new Failure<GatewayCode>("probe_target_invalid");
}

/** One connection and the first part of what it was told. */
export class Contact implements Disposable {
  readonly #socket: Socket;
  readonly #end = Promise.withResolvers<boolean>();
  text = "";
  ended = false;
  connected = false;

  constructor(target: Target) {
    this.#socket =
      target.path === undefined ? connect({ host: "127.0.0.1", port: target.port! }) : connect({ path: target.path });
    this.#socket.on("data", (chunk: Buffer) => {
      this.text = `${this.text}${chunk.toString("latin1")}`.slice(0, 4096);
    });
    this.#socket.on("connect", () => {
      this.connected = true;
    });
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.ended = true;
      this.#end.resolve(false);
    });
  }

  /** Writes the bytes; false once the other side is gone. */
  async write(bytes: string | Uint8Array): Promise<boolean> {
    const written = Promise.withResolvers<boolean>();
    this.#socket.write(bytes, (error) => written.resolve(error == null));
    return await Promise.race([written.promise, this.#end.promise]);
  }

  /** Waits for a whole answer head, or the end. */
  answered(withinMs: number): Promise<boolean> {
    return holdsWithin(() => this.ended || this.text.includes("\r\n\r\n"), { withinMs, everyMs: 2 });
  }

  /** Waits for the end. */
  closes(withinMs: number): Promise<boolean> {
    return holdsWithin(() => this.ended, { withinMs, everyMs: 2 });
  }

  get admitted(): boolean {
    return this.text.startsWith("HTTP/1.1 101");
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

export interface HeadFacts {
  readonly lines?: readonly string[];
  readonly target?: string;
  readonly host?: string | null;
  readonly method?: string;
  readonly version?: string;
}

/** An upgrade request, sound but for what the facts put in its place. */
export function headFor(target: Target, facts: HeadFacts = {}): string {
  const host = facts.host === undefined ? target.host : facts.host;
  return `${[
    `${facts.method ?? "GET"} ${facts.target ?? "/"} HTTP/${facts.version ?? "1.1"}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ...(facts.lines ?? []),
  ].join("\r\n")}\r\n\r\n`;
}
