// The embedded control plane: loopback only, token required, every acknowledged write on disk. One door, one folder.
import { type Clock, holdsWithin, systemClock } from "../base/clock.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { type RandomBytes, systemRandom } from "../base/random.ts";
import type { Secret } from "../base/secret.ts";
import { type ListenAddress, localHosts, parseAddress } from "./address.ts";
import type { ServerCode } from "./codes.ts";
import { type FileSystemKind, fileSystemKind, openDataFolder } from "./data-folder.ts";
import { serverLimits } from "./limits.ts";
import { type ServerLog, silentLog } from "./log.ts";
import { pagesOf } from "./pages.ts";
import type { Principal } from "./principal.ts";
import { defaultRates, type RateLimits, Rates } from "./rates.ts";
import { refusal } from "./refusal.ts";
import { authenticate, type RouteState, rimRefusal, route, unknownBearer } from "./route.ts";
import type { RunnerLink } from "./runner-registry.ts";
import { openStore, type Store } from "./store.ts";
import { bootstrapPrincipal } from "./tokens.ts";
import type { ToolContext } from "./tool.ts";

export interface ServerOptions {
  /** `WEBCODEX_ADDR`: a loopback address and a port; port 0 takes any. */
  readonly address: string;
  readonly dataFolder: string;
  readonly bootstrap: Secret;
  readonly openLink: (parts: LinkParts) => RunnerLink;
  readonly observationsPerSession?: number;
  readonly rates?: RateLimits;
  readonly log?: ServerLog;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  readonly pause?: (point: string) => Promise<void>;
  readonly kindOfFileSystem?: FileSystemKind;
}

export interface LinkParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: ServerLog;
}

export interface RunningServer {
  readonly port: number;
  readonly url: string;
  /** Answers long polls, ends connections, commits and closes the store. */
  close(): Promise<void>;
}

/** Starts the server; every refusal happens before the folder or the port is touched, or leaves both as they were. */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const address = parseAddress(options.address);
  checkBootstrap(options.bootstrap);
  const folder = openDataFolder(options.dataFolder, options.kindOfFileSystem ?? fileSystemKind);
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const log = options.log ?? silentLog;
  let store: Store | undefined;
  try {
    store = openStore(folder.databasePath, { wallMs: clock.wallMs() });
    const link = options.openLink({ store, clock, random, log });
    const stopping = new AbortController();
    const rates = new Rates(options.rates ?? defaultRates);
    const contextFor = (principal: Principal, left: () => AbortSignal): ToolContext => ({
      principal,
      store: store!,
      clock,
      random,
      runners: link,
      log,
      // Joined on first use: most tools answer without waiting for anything.
      get signal() {
        return AbortSignal.any([left(), stopping.signal]);
      },
      enterLongPoll: () => rates.enterLongPoll(),
      pause: options.pause ?? (async () => undefined),
      limits: { observationsPerSession: options.observationsPerSession ?? serverLimits.observationsPerSession },
      privateFolder: folder.privateFolder,
    });
    const listener = listen(address, { bootstrap: options.bootstrap, rates, link, contextFor, stopping, store });
    log.note("listening", { port: listener.port ?? 0 });
    return {
      port: listener.port ?? 0,
      url: `http://${address.host.includes(":") ? `[${address.host}]` : address.host}:${listener.port}`,
      async close() {
        stopping.abort();
        link.close();
        // Frees the port at once; what is still being answered gets the grace, idle connections do not.
        void listener.stop();
        await holdsWithin(() => rates.inFlight === 0, { withinMs: serverLimits.stopGraceMs, everyMs: 5, clock });
        await listener.stop(true);
        store?.close();
        folder.lock.release();
        log.note("stopped");
      },
    };
  } catch (error) {
    store?.close();
    folder.lock.release();
    throw error;
  }
}

function checkBootstrap(bootstrap: Secret): void {
  const fits = bootstrap.exposeText((text) => /^[!-+\--~]{16,512}$/.test(text));
  if (!fits) throw new Failure<ServerCode>("server_token_weak");
}

interface ListenParts {
  readonly bootstrap: Secret;
  readonly rates: Rates;
  readonly link: RunnerLink;
  readonly store: Store;
  readonly stopping: AbortController;
  readonly contextFor: (principal: Principal, left: () => AbortSignal) => ToolContext;
}

function listen(address: ListenAddress, parts: ListenParts): Bun.Server<unknown> {
  const { link, rates, stopping } = parts;
  const never = new AbortController().signal;
  const anonymous = parts.contextFor(bootstrapPrincipal, () => never);
  let state: RouteState | undefined;
  try {
    const server = Bun.serve<unknown>({
      hostname: address.host,
      port: address.port,
      idleTimeout: serverLimits.idleTimeoutSeconds,
      maxRequestBodySize: serverLimits.maxBodyBytes + 1024,
      development: false,
      websocket: { ...link.websocket, idleTimeout: 120, sendPings: true },
      error: () => refusal(500, "internal error"),
      async fetch(request, listener) {
        if (stopping.signal.aborted) return refusal(503, "stopping", { connection: "close" });
        // A long poll outlives the idle bound; its own deadline ends it.
        listener.timeout(request, 180);
        if (request.url.includes("/api/agents/ws") && new URL(request.url).pathname === "/api/agents/ws")
          return upgrade(request, listener, { state: state!, context: anonymous, link });
        return route(request, state!, anonymous);
      },
    });
    state = {
      rates,
      bootstrap: parts.bootstrap,
      hosts: localHosts(server.port ?? address.port),
      contextFor: parts.contextFor,
      pages: pagesOf({ rates, store: parts.store, runners: link }),
    };
    return server;
  } catch (error) {
    if (systemCodeOf(error) === "EADDRINUSE") throw new Failure<ServerCode>("server_address_in_use", { cause: error });
    throw new Failure<ServerCode>("server_address_invalid", { cause: error });
  }
}

/** The Runner's socket: an agent token in the header, nothing in the URL. */
async function upgrade(
  request: Request,
  listener: Bun.Server<unknown>,
  parts: { readonly state: RouteState; readonly context: ToolContext; readonly link: RunnerLink },
): Promise<Response | undefined> {
  const refused = rimRefusal(request, new URL(request.url), parts.state.hosts);
  if (refused !== null) return refused;
  const principal = await authenticate(request, parts.state, parts.context);
  if (principal === null) return unknownBearer(parts.state, parts.context);
  if (principal.kind !== "agent" || !principal.scopes.has("agent:register"))
    return refusal(403, "an agent token is required");
  const data = parts.link.socketData(principal);
  return listener.upgrade(request, { data }) ? undefined : refusal(426, "websocket upgrade required");
}
