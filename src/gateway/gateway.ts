// The gateway's door: credentials and bootstrap of one generation, listeners over one connection budget, one
// upstream. What needs the operator asks for the bootstrap; stopping ends every channel with 1001.
import type { Server, Socket } from "node:net";
import { toHex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { type RandomBytes, systemRandom } from "../base/random.ts";
import { Bootstrap, BootstrapAuthority } from "./bootstrap.ts";
import { type BootstrapFile, type FileSeams, writeBootstrapFile } from "./bootstrap-file.ts";
import type { GatewayCode } from "./codes.ts";
import { type ConnectionContext, serveConnection } from "./connection.ts";
import { Coordinator, type CoordinatorOptions } from "./coordinator.ts";
import { type ClientCredential, CredentialRegistry, drawBytes } from "./credentials.ts";
import { type Endpoint, type EndpointFacts, endpointOf } from "./endpoint.ts";
import { Turns } from "./fair-reading.ts";
import { type ConnectionLimits, gatewayLimits } from "./limits.ts";
import { type Preset, rightsOf } from "./permissions.ts";
import { listenTcp } from "./tcp-listener.ts";
import { listenUnix } from "./unix-listener.ts";
import type { HostRule } from "./upgrade.ts";

export interface GatewayOptions extends Omit<CoordinatorOptions, "clientHome"> {
  readonly folder: string;
  readonly clientHome?: string;
  readonly forwardedPorts?: readonly number[];
  readonly random?: RandomBytes;
  readonly limits?: Partial<ConnectionLimits>;
}

export class Gateway {
  readonly registry: CredentialRegistry;
  readonly authority: BootstrapAuthority;
  readonly coordinator: Coordinator;
  readonly generation: string;
  readonly #limits: ConnectionLimits;
  readonly #options: GatewayOptions;
  #forwarded: ReadonlySet<number> = new Set();
  #shared = false;
  readonly #turns = new Turns();
  readonly #open = new Map<Socket, { close(code: number): void }>();
  readonly #endpoints = new Set<Endpoint>();
  readonly #clientSockets = new Map<string, Endpoint>();

  constructor(options: GatewayOptions, generation: string, first: Bootstrap) {
    this.#options = options;
    this.generation = generation;
    this.#limits = { ...gatewayLimits, ...options.limits };
    this.authority = new BootstrapAuthority(generation, first);
    this.registry = new CredentialRegistry({
      runtimeId: "proctor-gateway",
      generation,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
    this.coordinator = new Coordinator({ ...options, clientHome: options.clientHome ?? options.folder });
    this.configure({ forwardedPorts: options.forwardedPorts ?? [] });
  }

  /** Only before anybody else can reach the gateway; a port 0 names nothing and is dropped. */
  configure(asked: { readonly forwardedPorts?: readonly number[]; readonly clientHome?: string }): void {
    if (this.#shared) throw new Failure<GatewayCode>("configuration_locked");
    if (asked.forwardedPorts !== undefined)
      this.#forwarded = new Set(asked.forwardedPorts.filter((port) => port !== 0));
    if (asked.clientHome !== undefined) this.coordinator.clientHome = asked.clientHome;
  }

  /** The file of the current bootstrap; a foreign or rotated value is not written. */
  writeBootstrapFile(bootstrap: Bootstrap, seams: FileSeams = {}): BootstrapFile {
    this.authority.check(bootstrap);
    return writeBootstrapFile(this.#options.folder, bootstrap, seams);
  }

  issue(bootstrap: Bootstrap, clientId: string, preset: Preset): ClientCredential {
    this.authority.check(bootstrap);
    return this.registry.issue(clientId, rightsOf(preset));
  }

  async revoke(bootstrap: Bootstrap, credential: ClientCredential): Promise<void> {
    this.authority.check(bootstrap);
    await this.registry.revoke(credential);
    await this.#closeClientSocket(credential.digest);
  }

  /** Revokes what a client id or a credential id names; gives the number revoked. */
  async revokeNamed(bootstrap: Bootstrap, name: { clientId?: string; credentialId?: string }): Promise<number> {
    this.authority.check(bootstrap);
    const digests = this.registry.digestsOf(name);
    if (digests.length === 0) throw new Failure<GatewayCode>("credential_revoked");
    await Promise.all(digests.map((digest) => this.registry.revokeDigest(digest)));
    await Promise.all(digests.map((digest) => this.#closeClientSocket(digest)));
    return digests.length;
  }

  async rotate(bootstrap: Bootstrap, old: ClientCredential, clientId: string): Promise<ClientCredential> {
    this.authority.check(bootstrap);
    return await this.registry.rotate(old, clientId, rightsOf("interactive"));
  }

  /** Rotation by name, for the operator who holds no handle: the replacement first, the old ones gone before it. */
  async rotateNamed(bootstrap: Bootstrap, clientId: string): Promise<ClientCredential> {
    this.authority.check(bootstrap);
    const old = this.registry.digestsOf({ clientId });
    if (old.length === 0) throw new Failure<GatewayCode>("credential_revoked");
    const replacement = this.registry.issue(clientId, rightsOf("interactive"));
    await Promise.all(old.map((digest) => this.registry.revokeDigest(digest)));
    await Promise.all(old.map((digest) => this.#closeClientSocket(digest)));
    return replacement;
  }

  /** Every client is revoked and gone before the runtime is closed; they stay revoked if that fails. */
  async terminate(bootstrap: Bootstrap): Promise<void> {
    this.authority.check(bootstrap);
    await this.registry.revokeAll();
    await Promise.all([...this.#clientSockets.keys()].map((digest) => this.#closeClientSocket(digest)));
    this.#options.audit?.note({ event: "operator", client: "proctor-operator", reason: "terminate" });
    if (!(await this.coordinator.close())) throw new Failure<GatewayCode>("runtime_close_failed");
  }

  async listenTcp(port: number): Promise<Endpoint> {
    this.#shared = true;
    let rule: HostRule | null = null;
    const listener = await listenTcp(port, (socket) => (rule === null ? socket.destroy() : this.#accept(socket, rule)));
    rule = { kind: "tcp", address: listener.address, forwardedPorts: this.#forwarded };
    return this.#endpoint(listener.server, { address: listener.address, port: listener.port, remove: () => {} });
  }

  async listenUnix(path: string): Promise<Endpoint> {
    this.#shared = true;
    const listener = await listenUnix(path, (socket) => this.#accept(socket, { kind: "unix" }));
    return this.#endpoint(listener.server, { address: path, remove: () => listener.remove() });
  }

  /** A socket that is one client's identity; it goes with the credential. */
  async listenForClient(credential: ClientCredential, path: string): Promise<Endpoint> {
    this.#shared = true;
    const { digest } = credential;
    const listener = await listenUnix(path, (socket) => this.#accept(socket, { kind: "client-unix" }, digest));
    const endpoint = this.#endpoint(listener.server, { address: path, remove: () => listener.remove() });
    this.#clientSockets.set(digest, endpoint);
    return endpoint;
  }

  #accept(socket: Socket, rule: HostRule, digest?: string): void {
    if (this.#open.size >= this.#limits.maxConnections) {
      socket.destroy();
      return;
    }
    const context: ConnectionContext = {
      rule,
      keeper: {
        generation: this.generation,
        authenticate: (bearer) =>
          digest !== undefined ? this.registry.take(digest) : this.registry.authenticate(bearer ?? ""),
      },
      coordinator: this.coordinator,
      limits: this.#limits,
      turns: this.#turns,
      ...(this.#options.audit === undefined ? {} : { audit: this.#options.audit }),
    };
    this.#open.set(socket, serveConnection(socket, context));
    socket.once("close", () => this.#open.delete(socket));
  }

  #endpoint(server: Server, facts: EndpointFacts): Endpoint {
    const endpoint = endpointOf(server, facts);
    this.#endpoints.add(endpoint);
    return endpoint;
  }

  async #closeClientSocket(digest: string): Promise<void> {
    const endpoint = this.#clientSockets.get(digest);
    if (endpoint === undefined) return;
    this.#clientSockets.delete(digest);
    await endpoint.stop();
    this.#endpoints.delete(endpoint);
  }

  connections(): number {
    return this.#open.size;
  }

  /** Stops listening, ends every channel with 1001 and closes the upstream. */
  async stop(): Promise<void> {
    const stopping = [...this.#endpoints].map((endpoint) => endpoint.stop());
    for (const connection of this.#open.values()) connection.close(1001);
    await Promise.all(stopping);
    await this.coordinator.close();
  }
}

/** A gateway of a new generation and its first bootstrap; a failing random source gives neither. */
export function openGateway(options: GatewayOptions): { gateway: Gateway; bootstrap: Bootstrap } {
  const random = options.random ?? systemRandom;
  const generation = toHex(drawBytes(gatewayLimits.generationBytes, random));
  const bootstrap = Bootstrap.draw(generation, random);
  return { gateway: new Gateway(options, generation, bootstrap), bootstrap };
}
