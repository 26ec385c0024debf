// Listens on 127.0.0.1 and on nothing else: there is a port to choose and no address.
import { createServer, type Server, type Socket } from "node:net";
import { Failure } from "../base/failure.ts";
import type { GatewayCode } from "./codes.ts";

export interface TcpListener {
  readonly server: Server;
  readonly port: number;
  readonly address: string;
}

export async function listenTcp(port: number, accept: (socket: Socket) => void): Promise<TcpListener> {
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new Failure<GatewayCode>("endpoint_invalid");
  const server = createServer({ noDelay: true, allowHalfOpen: true }, accept);
  const ready = Promise.withResolvers<void>();
  server.once("error", (error) => ready.reject(new Failure<GatewayCode>("endpoint_unavailable", { cause: error })));
  server.listen({ port, host: "127.0.0.1", exclusive: true }, () => ready.resolve());
  await ready.promise;
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Failure<GatewayCode>("endpoint_unavailable");
  return { server, port: bound.port, address: `127.0.0.1:${bound.port}` };
}
