// One listening place and its health: ready, shutting down from the moment a stop is asked, stopped when nothing
// accepts any more. An accept error stops it as well.
import type { Server } from "node:net";

export type Health = "ready" | "shutting_down" | "stopped";

export interface Endpoint extends AsyncDisposable {
  readonly address: string;
  readonly port?: number;
  health(): Health;
  stop(): Promise<void>;
}

export interface EndpointFacts {
  readonly address: string;
  readonly port?: number;
  /** Takes away what the listener left in the file system. */
  readonly remove: () => void;
}

export function endpointOf(server: Server, facts: EndpointFacts): Endpoint {
  let health: Health = "ready";
  const ended = Promise.withResolvers<void>();
  const end = () => {
    if (health === "stopped") return;
    health = "stopped";
    facts.remove();
    ended.resolve();
  };
  server.on("close", end);
  server.on("error", () => {
    server.close();
    end();
  });
  const stop = async () => {
    if (health === "ready") {
      health = "shutting_down";
      server.close();
      // The accept loop has ended; live channels are the gateway's to close.
      setImmediate(end);
    }
    await ended.promise;
  };
  return {
    address: facts.address,
    ...(facts.port === undefined ? {} : { port: facts.port }),
    health: () => health,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
