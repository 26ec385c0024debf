// The one app-server behind the gateway: a child over stdio, or a WebSocket over a Unix socket or loopback TCP.
// Messages in and out are whole JSON texts; the end of the link is told once.

import { decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { LineSplitter } from "../base/lines.ts";
import { startGroup } from "../base/process-group.ts";
import type { GatewayCode } from "./codes.ts";
import { gatewayLimits } from "./limits.ts";

export interface UpstreamEvents {
  message(text: string): void;
  closed(): void;
}

export interface UpstreamLink {
  send(text: string): void;
  /** True once the runtime is really gone. */
  close(): Promise<boolean>;
}

export type OpenUpstream = (events: UpstreamEvents) => Promise<UpstreamLink>;

export interface StdioUpstream {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

/**
 * Starts the program in a group of its own and speaks lines with it; its stderr is dropped. The start is the first
 * client's, so that a program nobody could start is refused here, before anybody is told to come.
 */
export function stdioUpstream(program: StdioUpstream): OpenUpstream {
  const { command, cwd, env } = program;
  if (Bun.which(command, { PATH: env.PATH ?? "", cwd }) === null)
    throw new Failure<GatewayCode>("upstream_program_unusable");
  return async (events) => {
    const group = startGroup({ ...program, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    void pumpLines(group.stdout!, events);
    return {
      send(text) {
        group.stdin!.write(`${text}\n`);
        // A pipe that broke tells its end by the end of stdout; nothing more is to be done here.
        Promise.resolve(group.stdin!.flush()).catch(() => {});
      },
      close: async () => (await group.stop()) === "gone",
    };
  };
}

async function pumpLines(stream: ReadableStream<Uint8Array>, events: UpstreamEvents): Promise<void> {
  const splitter = new LineSplitter({ maxLineBytes: gatewayLimits.maxMessageBytes });
  try {
    for await (const chunk of stream) {
      for (const line of splitter.push(chunk)) events.message(decodeUtf8(line) ?? "");
    }
  } catch {
    // An overlong line or a broken pipe ends the link like any other end; `closed` says it.
  }
  events.closed();
}

/** `ws://127.0.0.1:PORT` or `unix:PATH`, exactly. */
export function webSocketUpstream(address: string): OpenUpstream {
  const url = upstreamUrl(address);
  return async (events) => {
    const socket = new WebSocket(url, { headers: address.startsWith("unix:") ? { Host: "localhost" } : {} } as never);
    const opened = Promise.withResolvers<boolean>();
    let reached = false;
    socket.onopen = () => {
      reached = true;
      opened.resolve(true);
    };
    socket.onerror = () => opened.resolve(false);
    socket.onclose = () => {
      opened.resolve(false);
      if (reached) events.closed(); // a link that never was has no end to tell
    };
    socket.onmessage = (event) => events.message(String(event.data));
    if (!(await opened.promise)) throw new Failure<GatewayCode>("upstream_unreachable");
    return {
      send: (text) => socket.send(text),
      close: async () => {
        socket.close();
        return true;
      },
    };
  };
}

/** The URL behind an upstream's address; every other form is refused. */
export function upstreamUrl(address: string): string {
  const port = /^ws:\/\/127\.0\.0\.1:([1-9][0-9]{0,4})\/?$/.exec(address)?.[1];
  if (port !== undefined && Number(port) < 65536) return `ws://127.0.0.1:${port}/`;
  if (/^unix:\/[!-~]*$/.test(address)) return `ws+unix://${address.slice(5)}:/`;
  throw new Failure<GatewayCode>("upstream_invalid");
}
