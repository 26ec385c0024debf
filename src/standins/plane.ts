// `standin plane`: the real embedded server with one thing wrong. It starts `proctor server` on a port of its own and
// passes every request, answer and link frame on, but for the one that the misbehaviour's name is about.

import { standinLimits } from "./limits.ts";
import { LinkBridge, type LinkTwist } from "./link-bridge.ts";
import { type Call, changeResult, readCall } from "./plane-call.ts";
import type { PlaneMisbehaviour } from "./plane-misbehaviours.ts";
import { Redispatch } from "./plane-redispatch.ts";
import { type PlaneMoment, planeTwists } from "./plane-twists.ts";

export interface PlaneOptions {
  readonly host: string;
  readonly port: number;
  /** Port of the server behind. */
  readonly innerPort: number;
  readonly misbehave: PlaneMisbehaviour | "honest";
  readonly restarted: boolean;
  readonly secret: string;
  /** A private file for what has to outlive a restart. */
  readonly memory: string;
  readonly exit: (code: number) => never;
}

export interface RunningPlane {
  readonly port: number;
  close(): Promise<void>;
}

export function openPlane(options: PlaneOptions): RunningPlane {
  const plane = new Plane(options);
  const listener = Bun.serve<SocketData>({
    hostname: options.host,
    port: options.port,
    idleTimeout: 120,
    development: false,
    fetch: (request, server) => plane.answer(request, server),
    websocket: {
      maxPayloadLength: standinLimits.maxLinkFrameBytes,
      open: (socket) => plane.openLink(socket),
      message: (socket, message) => socket.data.bridge?.takeFromRunner(String(message)),
      close: (socket) => socket.data.bridge?.close(),
    },
  });
  return { port: listener.port ?? 0, close: () => listener.stop(true) };
}

interface SocketData {
  readonly authorization: string;
  bridge: LinkBridge | null;
}

class Plane {
  readonly #options: PlaneOptions;
  readonly #counts = new Map<string, number>();
  readonly #redispatch: Redispatch | null;

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.#redispatch = options.misbehave === "redispatches-on-replay" ? new Redispatch(options.memory) : null;
  }

  async answer(request: Request, server: Bun.Server<SocketData>): Promise<Response | undefined> {
    const url = new URL(request.url);
    const authorization = request.headers.get("authorization") ?? "";
    if (request.headers.get("upgrade")?.toLowerCase() === "websocket") {
      const data = { authorization, bridge: null };
      return server.upgrade(request, { data }) ? undefined : new Response(null, { status: 426 });
    }
    server.timeout(request, 180);
    const body = await request.text();
    const call = readCall(url.pathname, body);
    const moment = this.#moment(call);
    const twists = call === null ? [] : planeTwists(this.#options.misbehave).filter((one) => one.applies(call, moment));
    const instead = twists.find((one) => one.instead !== undefined)?.instead;
    if (instead !== undefined) return await this.#instead(instead);
    if (call?.tool === "start_agent_task_coding_run" && moment.nth > 1) await this.#redispatch?.again();
    const inner = await this.#pass(request, { url, body });
    if (call === null) return inner;
    let text = await inner.text();
    for (const { result } of twists)
      if (result !== undefined) text = changeResult(call, text, (whole, output) => result(whole, output, moment));
    return this.#deliver(text, inner);
  }

  openLink(socket: Bun.ServerWebSocket<SocketData>): void {
    const url = `ws://127.0.0.1:${this.#options.innerPort}/api/agents/ws`;
    const twist: LinkTwist = this.#redispatch?.twist ?? {};
    const bridge = new LinkBridge(socket, { url, authorization: socket.data.authorization }, twist);
    socket.data.bridge = bridge;
    this.#redispatch?.use(bridge);
  }

  #moment(call: Call | null): PlaneMoment {
    const nth = call === null ? 0 : (this.#counts.get(call.tool) ?? 0) + 1;
    if (call !== null) this.#counts.set(call.tool, nth);
    return { restarted: this.#options.restarted, nth, secret: this.#options.secret };
  }

  async #pass(request: Request, { url, body }: { url: URL; body: string }): Promise<Response> {
    if (this.#options.misbehave === "honest-slow") await Bun.sleep(150);
    const headers = new Headers(request.headers);
    for (const name of ["host", "connection", "content-length"]) headers.delete(name);
    const target = `http://127.0.0.1:${this.#options.innerPort}${url.pathname}${url.search}`;
    const bodied = request.method === "GET" || request.method === "HEAD" ? {} : { body };
    // An empty proxy keeps the variables of the environment out; over plain HTTP, which is all that is spoken here.
    return await fetch(target, { method: request.method, headers, redirect: "manual", proxy: "", ...bodied });
  }

  #deliver(text: string, inner: Response): Response {
    const headers = new Headers(inner.headers);
    for (const name of ["content-length", "connection", "content-encoding", "transfer-encoding"]) headers.delete(name);
    if (this.#options.misbehave === "honest-odd-answers") headers.set("x-of-tomorrow", "1");
    if (this.#options.misbehave !== "honest-split-chunks") return new Response(text, { status: inner.status, headers });
    return new Response(inPieces(new TextEncoder().encode(text)), { status: inner.status, headers });
  }

  async #instead(how: "html" | "half" | "too_much" | "never" | "exit"): Promise<Response> {
    const json = { "content-type": "application/json" };
    switch (how) {
      case "html":
        return new Response("<!doctype html><title>Sign in</title>", { headers: { "content-type": "text/html" } });
      case "half":
        return new Response('{"jsonrpc":"2.0","result":{"structuredContent":{', { headers: json });
      case "too_much":
        return new Response(`{"filler":"${"x".repeat(standinLimits.maxAnswerBytes)}"}`, { headers: json });
      case "never":
        await Bun.sleep(60_000);
        return new Response("{}", { headers: json });
      case "exit":
        return this.#options.exit(1);
    }
  }
}

function inPieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      controller.enqueue(bytes.slice(at, at + 97));
      at += 97;
      if (at >= bytes.length) controller.close();
      else if (at % 970 === 0) await Bun.sleep(1);
    },
  });
}
