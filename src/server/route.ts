// The way of one request: the rim's rules first, then who is asking, then the body, then the route. Straight line,
// cheapest refusal first.
import type { Secret } from "../base/secret.ts";
import { mcpErrors } from "../contract/mcp.ts";
import type { Scope } from "../contract/scopes.ts";
import { createAgentToken, createToken, createUser, listTokensRoute, revokeTokenRoute } from "./accounts.ts";
import { readJsonBody } from "./body.ts";
import { consoleProjects, consoleRuns, consoleSessions } from "./console.ts";
import { mcpGet, mcpPost, rpcError } from "./mcp.ts";
import { missingScope, type Principal } from "./principal.ts";
import type { Rates } from "./rates.ts";
import { faultAnswer, missingScopeAnswer, refusal, unauthorized } from "./refusal.ts";
import { restCall, restList } from "./rest.ts";
import { principalOf } from "./tokens.ts";
import type { ToolContext } from "./tool.ts";

export interface RouteState {
  readonly rates: Rates;
  readonly bootstrap: Secret;
  readonly hosts: ReadonlySet<string>;
  readonly contextFor: (principal: Principal, left: () => AbortSignal) => ToolContext;
  readonly pages: Readonly<Record<string, PageRoute>>;
}

/** GET pages: console, health and metrics. */
export interface PageRoute {
  readonly open: boolean;
  readonly answer: (context: ToolContext | null) => Promise<Response> | Response;
}

type PostRoute = {
  readonly scopes: readonly Scope[];
  readonly answer: (body: unknown, context: ToolContext) => Promise<Response>;
};

const posts: Readonly<Record<string, PostRoute>> = {
  "/api/tools/call": { scopes: [], answer: restCall },
  "/api/tools/list": { scopes: ["runtime:read"], answer: async () => restList() },
  "/api/users/create": { scopes: [], answer: createUser },
  "/api/tokens/create": { scopes: [], answer: createToken },
  "/api/agent-tokens/create": { scopes: [], answer: createAgentToken },
  "/api/tokens/list": { scopes: [], answer: listTokensRoute },
  "/api/runtime-console/projects": { scopes: ["project:read"], answer: consoleProjects },
  "/api/runtime-console/workflow-sessions": { scopes: ["project:read"], answer: consoleSessions },
  "/api/runtime-console/runs": { scopes: ["coding_agent:run"], answer: consoleRuns },
  "/api/tokens/revoke": { scopes: [], answer: revokeTokenRoute },
};

/** Refusals that need no credential: a foreign Host or Origin, a request target that carries a query. */
export function rimRefusal(request: Request, url: URL, hosts: ReadonlySet<string>): Response | null {
  const host = request.headers.get("host");
  if (host === null || !hosts.has(host.toLowerCase())) return refusal(403, "host not allowed");
  const origin = request.headers.get("origin");
  if (origin !== null && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    return refusal(403, "origin not allowed");
  if (url.search !== "") return refusal(400, "no query is taken here");
  return null;
}

/** The principal behind the one well-formed bearer of the request, or null. */
export async function authenticate(
  request: Request,
  state: RouteState,
  context: ToolContext,
): Promise<Principal | null> {
  const bearer = /^Bearer ([!-~]{1,512})$/.exec(request.headers.get("authorization") ?? "")?.[1];
  if (bearer === undefined || bearer.includes(",")) return null;
  const nowSeconds = Math.floor(context.clock.wallMs() / 1000);
  return context.store.read((db) => principalOf(db, bearer, { bootstrap: state.bootstrap, nowSeconds }));
}

/** The answer to a bearer that is nobody's, revoked or expired; who guesses on and on waits. */
export function unknownBearer(state: RouteState, context: ToolContext): Response {
  return state.rates.mayRefuseBearer(context.clock.monotonicMs())
    ? unauthorized()
    : refusal(429, "too many requests", { "retry-after": "1" });
}

/** Answers everything but the Runner's upgrade. */
export async function route(request: Request, state: RouteState, context: ToolContext): Promise<Response> {
  const url = new URL(request.url);
  const refused = rimRefusal(request, url, state.hosts);
  if (refused !== null) return refused;
  const page = request.method === "GET" || request.method === "HEAD" ? state.pages[url.pathname] : undefined;
  if (page?.open === true) return page.answer(null);
  const principal = await authenticate(request, state, context);
  if (principal === null) return unknownBearer(state, context);
  const leave = state.rates.enter(principal.owner, context.clock.monotonicMs());
  if (leave === "too_many") return refusal(429, "too many requests", { "retry-after": "1" });
  if (leave === "busy") return refusal(503, "busy", { "retry-after": "1" });
  try {
    return await admitted(request, { url, state, page, context: state.contextFor(principal, () => request.signal) });
  } catch (error) {
    // The one boundary of a request: the caller learns a fixed word, the log a code.
    context.log.note("request_failed", {
      code: (error as { code?: unknown }).code === undefined ? "internal" : String((error as { code?: unknown }).code),
    });
    return faultAnswer(error);
  } finally {
    leave();
  }
}

interface Admitted {
  readonly url: URL;
  readonly state: RouteState;
  readonly page: PageRoute | undefined;
  readonly context: ToolContext;
}

async function admitted(request: Request, { url, page, context }: Admitted): Promise<Response> {
  if (context.principal.kind === "agent") return refusal(403, "agent tokens may only use the agent transport");
  if (page !== undefined) return page.answer(context);
  if (request.method === "GET" && url.pathname === "/mcp") {
    const scope = missingScope(context.principal, ["runtime:read"]);
    return scope === null ? mcpGet(request) : missingScopeAnswer(scope);
  }
  const known = posts[url.pathname];
  if (known === undefined && url.pathname !== "/mcp") return refusal(404, "not found");
  if (request.method !== "POST") return refusal(405, "method not allowed", { allow: "POST" });
  if (!/^application\/json(?:\s*;.*)?$/i.test(request.headers.get("content-type") ?? ""))
    return refusal(415, "application/json required");
  const scope = missingScope(context.principal, known?.scopes ?? []);
  if (scope !== null) return missingScopeAnswer(scope);
  const body = await readJsonBody(request);
  if (body.read === "json")
    return known === undefined ? mcpPost(request, body.value, context) : known.answer(body.value, context);
  if (body.read === "too_large") return refusal(413, "body too large");
  if (body.read === "too_slow") return refusal(408, "body too slow");
  if (known === undefined) return rpcError(400, { id: null, code: mcpErrors.parse, message: "Parse error" });
  return refusal(400, `Invalid JSON: ${body.read}`);
}
