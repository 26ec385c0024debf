// biome-ignore-all lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
// A gateway over the fake app-server, raw sockets and small clients for its tests.
import { connect, type Socket } from "node:net";
import { holdsWithin } from "../../src/base/clock.ts";
import type { ClientCredential } from "../../src/gateway/credentials.ts";
import { type GatewayOptions, openGateway } from "../../src/gateway/gateway.ts";
import { stdioUpstream } from "../../src/gateway/upstream.ts";
import { projectRoot } from "../support/binary.ts";

export function fakeGateway(folder: string, more: Partial<GatewayOptions> = {}) {
  const opened = openGateway({
    folder,
    upstream: stdioUpstream({
      command: process.execPath,
      args: [`${projectRoot}fixtures/programs/fake-app-server.ts`],
      cwd: folder,
      env: { PATH: "/usr/bin:/bin", HOME: folder },
    }),
    ...more,
  });
  return { ...opened, [Symbol.asyncDispose]: () => opened.gateway.stop() };
}

export function upgradeHead(facts: {
  host: string;
  bearer?: string;
  target?: string;
  extra?: readonly string[];
}): string {
  const lines = [
    `GET ${facts.target ?? "/"} HTTP/1.1`,
    `Host: ${facts.host}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
  ];
  lines.push("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==");
  if (facts.bearer !== undefined) lines.push(`Authorization: Bearer ${facts.bearer}`);
  return `${[...lines, ...(facts.extra ?? [])].join("\r\n")}\r\n\r\n`;
}

/** Sends bytes on a raw socket and gives what came back by its close, or by the end of a 101 head. */
export async function rawProbe(target: number | string, bytes: string | Buffer): Promise<string> {
  const socket = typeof target === "number" ? connect(target, "127.0.0.1") : connect(target);
  const answer = Promise.withResolvers<string>();
  let text = "";
  socket.on("error", () => answer.resolve(text));
  socket.on("close", () => answer.resolve(text));
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    if (text.startsWith("HTTP/1.1 101") && text.includes("\r\n\r\n")) answer.resolve(text);
  });
  socket.write(bytes);
  const got = await answer.promise;
  await gone(socket);
  return got;
}

async function gone(socket: Socket): Promise<void> {
  const closed = Promise.withResolvers<void>();
  if (socket.destroyed) return;
  socket.once("close", () => closed.resolve());
  socket.destroy();
  await closed.promise;
}

export interface TestClient {
  readonly inbox: Array<Record<string, any>>;
  readonly closed: Promise<number>;
  send(message: unknown): void;
  call(method: string, params?: unknown): Promise<Record<string, any>>;
  wait(test: (message: Record<string, any>) => boolean): Promise<Record<string, any>>;
  close(): Promise<void>;
}

export async function client(
  url: string,
  credential: ClientCredential | string | null,
  headers: Record<string, string> = {},
): Promise<TestClient> {
  const authorization = authorizationOf(credential);
  const socket = new WebSocket(url, { headers: { ...authorization, ...headers } } as never);
  const inbox: Array<Record<string, any>> = [];
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<number>();
  socket.onmessage = (event) => inbox.push(JSON.parse(String(event.data)));
  socket.onopen = () => opened.resolve();
  socket.onclose = (event) => {
    closed.resolve(event.code);
    opened.reject(new Error(`refused ${event.code}`));
  };
  opened.promise.catch(() => {});
  await opened.promise;
  let id = 0;
  const wait = async (test: (message: Record<string, any>) => boolean) => {
    if (!(await holdsWithin(() => inbox.some(test), { withinMs: 20_000, everyMs: 5 })))
      throw new Error(`missing in ${JSON.stringify(inbox)}`);
    return inbox.find(test)!;
  };
  const send = (message: unknown) => socket.send(typeof message === "string" ? message : JSON.stringify(message));
  return {
    inbox,
    closed: closed.promise,
    send,
    wait,
    call: (method, params = {}) => {
      const own = `c${++id}`;
      send({ id: own, method, params });
      return wait((message) => message.id === own && message.method === undefined);
    },
    close: async () => {
      socket.close();
      await closed.promise;
    },
  };
}

/** `credential` is a handle, a bearer as the operator's file holds it, or nothing. */
function authorizationOf(credential: ClientCredential | string | null): Record<string, string> {
  if (credential === null) return {};
  const show = (bearer: string) => ({ Authorization: `Bearer ${bearer}` });
  return typeof credential === "string" ? show(credential) : credential.exposeBearer(show);
}

/** A client that has shaken hands with the app-server. */
export async function readyClient(
  url: string,
  credential: ClientCredential | string | null,
  headers: Record<string, string> = {},
): Promise<TestClient> {
  const one = await client(url, credential, headers);
  await one.call("initialize", { clientInfo: { name: "test", version: "0.144.4" } });
  one.send({ method: "initialized" });
  return one;
}
