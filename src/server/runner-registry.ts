// What the rest of the server may know about connected Runners: who is there, what they offer, and how to ask them.
// The link that keeps the sockets (`runner-link.ts`) implements it; nobody else sees a socket.
import type { Principal } from "./principal.ts";

export interface RunnerProject {
  /** `agent:<client_id>:<project_id>` */
  readonly id: string;
  readonly clientId: string;
  readonly projectId: string;
  readonly name: string | null;
  readonly path: string;
  readonly allowPatch: boolean;
  readonly disabled: boolean;
  readonly description: string | null;
  readonly revision: string | null;
}

export interface RunnerProvider {
  readonly providerId: string;
  readonly providerInstanceId: string;
  readonly name: string;
}

export interface ConnectedRunner {
  readonly clientId: string;
  /** The username of the agent token; only this user, an admin or bootstrap sees the Runner. */
  readonly owner: string;
  readonly instanceId: string;
  readonly capabilities: Readonly<Record<string, boolean>>;
  readonly providers: readonly RunnerProvider[];
  readonly projects: readonly RunnerProject[];
  readonly registeredAtMs: number;
  readonly lastSeenMs: number;
}

export interface RunnerRequest {
  /** `file_read`, `file_write`, `git_status`, `coding_agent`, … */
  readonly kind: string;
  readonly timeoutMs: number;
  /** Typed payload; its keys are merged into the `request` envelope. */
  readonly payload: Readonly<Record<string, unknown>>;
}

/**
 * `answered`: the Runner's `result` envelope. `offline`: nothing was sent. `timeout` and `lost` (the connection went
 * away after sending): the Runner may have acted.
 */
export type RunnerAnswer =
  | { readonly outcome: "answered"; readonly result: Readonly<Record<string, unknown>> }
  | { readonly outcome: "offline" }
  | { readonly outcome: "timeout" }
  | { readonly outcome: "lost" };

export interface RunnerRegistry {
  runners(): readonly ConnectedRunner[];
  runner(clientId: string): ConnectedRunner | null;
  request(clientId: string, request: RunnerRequest): Promise<RunnerAnswer>;
  /** Closes the sockets whose token was revoked or has expired; done when they are offline. */
  tokensChanged(): Promise<void>;
}

/** True when this caller may know that the Runner exists. */
export function maySeeRunner(principal: Principal, runner: ConnectedRunner): boolean {
  return principal.admin || (principal.username !== null && principal.username === runner.owner);
}

/** The projects the caller may know, in a stable order. */
export function visibleProjects(registry: RunnerRegistry, principal: Principal): readonly RunnerProject[] {
  return registry
    .runners()
    .filter((runner) => maySeeRunner(principal, runner))
    .flatMap((runner) => runner.projects)
    .sort((left, right) => (left.id < right.id ? -1 : left.id > right.id ? 1 : 0));
}

/** The project with this exact runtime id, if its Runner is connected and the caller may see it. */
export function visibleProject(registry: RunnerRegistry, principal: Principal, id: string): RunnerProject | null {
  return visibleProjects(registry, principal).find((project) => project.id === id) ?? null;
}

/** The registry together with its socket end; `server.ts` upgrades /api/agents/ws and hands the socket over. */
export interface RunnerLink extends RunnerRegistry {
  /** `ws.data` of a freshly authenticated agent connection (principal.kind is "agent"). */
  socketData(principal: Principal): unknown;
  readonly websocket: {
    open(socket: Bun.ServerWebSocket<unknown>): void;
    message(socket: Bun.ServerWebSocket<unknown>, message: string | Buffer): void;
    close(socket: Bun.ServerWebSocket<unknown>, code: number, reason: string): void;
    readonly maxPayloadLength: number;
  };
  /** Closes every socket and answers every waiting request. */
  close(): void;
}
