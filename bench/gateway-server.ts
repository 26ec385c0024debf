// The two servers the gateway's bench compares, one a process: npm `ws` on node:http that sends each message back, and
// our gateway with an app-server in the same process that answers each call with its parameters. Prints one JSON line.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openGateway } from "../src/gateway/gateway.ts";
import type { OpenUpstream } from "../src/gateway/upstream.ts";

/** Thirty for the measure and two who misbehave. */
const clients = 32;

/** Answers each call with its parameters, at once and without reading them, so that what is measured is the gateway. */
export const echoUpstream: OpenUpstream = ({ message }) =>
  Promise.resolve({
    send(text) {
      const params = text.indexOf(',"params":');
      const method = text.indexOf(',"method":');
      if (params > method && method > 0) message(`${text.slice(0, method)},"result":${text.slice(params + 10)}`);
    },
    close: () => Promise.resolve(true),
  });

async function serveGateway(): Promise<{ port: number; bearers: string[] }> {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: echoUpstream });
  const { port } = await gateway.listenTcp(0);
  const bearers = Array.from({ length: clients }, (_, at) =>
    gateway.issue(bootstrap, `c${at}`, "interactive").exposeBearer((text) => text),
  );
  return { port: port!, bearers };
}

async function serveWs(): Promise<{ port: number; bearers: string[] }> {
  // By its path: under this name the runtime would put its own implementation in the package's place.
  const path = `${import.meta.dir}/../node_modules/ws/lib/websocket-server.js`;
  const { default: WebSocketServer } = await import(path);
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: false, maxPayload: 16 * 1024 * 1024 });
  sockets.on(
    "connection",
    (socket: { on: (event: string, act: (data: Buffer) => void) => void; send: (text: string) => void }) =>
      socket.on("message", (data) => socket.send(data.toString("utf8"))),
  );
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  return { port: (server.address() as AddressInfo).port, bearers: [] };
}

if (import.meta.main) {
  const told = process.argv[2] === "ws" ? await serveWs() : await serveGateway();
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
