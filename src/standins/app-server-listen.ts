// How the app-server stand-in is reached: lines on stdio, or WebSocket text frames on 127.0.0.1 or on a private Unix
// socket. As the real one it answers health reads, refuses any Origin with 403 and what is no upgrade with 400.
import { chmodSync, lstatSync, rmSync } from "node:fs";
import { decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { LineSplitter } from "../base/lines.ts";
import type { AppServer, AppServerPeer } from "./app-server.ts";
import type { StandinCode } from "./codes.ts";
import { standinLimits } from "./limits.ts";

export type ListenAddress =
  | { readonly kind: "stdio" }
  | { readonly kind: "ws"; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** Reads `stdio`, `ws://127.0.0.1:PORT` or `unix:PATH` with an absolute path; null for anything else. */
export function parseListen(text: string): ListenAddress | null {
  if (text === "stdio" || text === "stdio://") return { kind: "stdio" };
  const port = /^ws:\/\/127\.0\.0\.1:(0|[1-9][0-9]{0,4})\/?$/.exec(text)?.[1];
  if (port !== undefined && Number(port) < 65_536) return { kind: "ws", port: Number(port) };
  const path = /^unix:(?:\/\/)?(\/[^\0]{1,102})$/.exec(text)?.[1];
  return path === undefined ? null : { kind: "unix", path };
}

/** Serves one peer over lines until the input ends. */
export async function serveLines(
  server: AppServer,
  ends: { readonly input: ReadableStream<Uint8Array>; readonly write: (text: string) => void },
): Promise<void> {
  const peer = server.connect((text) => ends.write(`${text}\n`));
  const lines = new LineSplitter({ maxLineBytes: standinLimits.maxAppServerMessageBytes });
  for await (const chunk of ends.input) for (const line of lines.push(chunk)) peer.take(decodeUtf8(line) ?? "");
  peer.close();
}

export interface AppServerListener extends AsyncDisposable {
  /** The address in the form `parseListen` takes, with the real port. */
  readonly address: string;
  readonly port: number | null;
}

/** Listens for WebSocket peers; what exists at a socket path is left alone and refused. */
export function listenSockets(server: AppServer, at: Exclude<ListenAddress, { kind: "stdio" }>): AppServerListener {
  const place = at.kind === "ws" ? { hostname: "127.0.0.1", port: at.port } : { unix: at.path };
  if (at.kind === "unix" && lstatSync(at.path, { throwIfNoEntry: false }) !== undefined) throw refused();
  const served = start(server, place);
  if (at.kind === "unix") chmodSync(at.path, 0o600);
  const port = at.kind === "ws" ? (served.port ?? 0) : null;
  return {
    address: at.kind === "ws" ? `ws://127.0.0.1:${port}` : `unix:${at.path}`,
    port,
    [Symbol.asyncDispose]: async () => {
      await served.stop(true);
      if (at.kind === "unix") rmSync(at.path, { force: true });
    },
  };
}

interface SocketState {
  peer: AppServerPeer | null;
}

function start(server: AppServer, place: { hostname: string; port: number } | { unix: string }) {
  try {
    return Bun.serve<SocketState>({
      ...place,
      fetch(request, serving) {
        if (request.headers.has("origin")) return new Response("origin refused", { status: 403 });
        const path = new URL(request.url).pathname;
        if (serving.upgrade(request, { data: { peer: null } })) return undefined;
        return new Response("", { status: path === "/readyz" || path === "/healthz" ? 200 : 400 });
      },
      websocket: {
        maxPayloadLength: standinLimits.maxAppServerMessageBytes,
        open(socket) {
          socket.data.peer = server.connect((text) => void socket.send(text));
        },
        message(socket, message) {
          if (typeof message === "string") socket.data.peer?.take(message);
          else socket.close(1003);
        },
        close: (socket) => socket.data.peer?.close(),
      },
    } as Bun.Serve.Options<SocketState>);
  } catch (error) {
    throw refused(error);
  }
}

function refused(cause?: unknown): Failure<StandinCode> {
  return new Failure<StandinCode>("standin_listen_failed", { cause });
}
