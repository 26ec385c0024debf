// POST /mcp: one JSON-RPC request, one JSON answer, no stream, no state between requests. An old or made-up session
// id changes nothing. Arrays, null ids and half requests are refused before anything runs.

import { toHex } from "../base/bytes.ts";
import { isRecord } from "../base/json.ts";
import { type McpId, mcpErrors, mcpMeta, mcpStatelessVersion, mcpVersions } from "../contract/mcp.ts";
import { version } from "../version.ts";
import { serverLimits } from "./limits.ts";
import { readRequestPolicy } from "./mcp-policy.ts";
import { mcpCallTool, mcpListTools } from "./mcp-tools.ts";
import { missingScope } from "./principal.ts";
import { json, missingScopeAnswer, refusal } from "./refusal.ts";
import type { ToolContext } from "./tool.ts";

export const serverInfo = { name: "proctor-server", version } as const;

/** A JSON-RPC error as HTTP answer. */
export function rpcError(
  status: number,
  error: { readonly id: McpId | null; readonly code: number; readonly message: string; readonly data?: unknown },
): Response {
  const { id, code, message, data } = error;
  return json(status, { jsonrpc: "2.0", id, error: data === undefined ? { code, message } : { code, message, data } });
}

/** Answers one POST whose bearer was already checked. */
export async function mcpPost(request: Request, body: unknown, context: ToolContext): Promise<Response> {
  const policy = readRequestPolicy(request.headers);
  if (policy === "malformed") return refusal(400, "malformed request policy header");
  const sessionId = request.headers.get("mcp-session-id");
  if (sessionId !== null && !/^[!-~]{1,256}$/.test(sessionId)) return refusal(400, "malformed session id");
  if (!isRecord(body) || body.jsonrpc !== "2.0" || typeof body.method !== "string") {
    return rpcError(400, { id: null, code: mcpErrors.invalidRequest, message: "Invalid Request" });
  }
  const { id, method, params } = body;
  if (id !== undefined && typeof id !== "string" && !(typeof id === "number" && Number.isSafeInteger(id)))
    return rpcError(400, { id: null, code: mcpErrors.invalidRequest, message: "Invalid Request" });
  if (params !== undefined && !isRecord(params))
    return rpcError(400, { id: id ?? null, code: mcpErrors.invalidParams, message: "params must be an object" });
  const refused = checkVersion(request.headers, { id: id ?? null, method, params: params ?? {} });
  if (refused !== null) return refused;
  if (id === undefined) return new Response(null, { status: 202 });
  const stateless = isStateless(request.headers, params ?? {});
  return dispatch({ request, id, method, params: params ?? {}, stateless, context });
}

function metaOf(params: Record<string, unknown>): Record<string, unknown> {
  return isRecord(params._meta) ? params._meta : {};
}

function isStateless(headers: Headers, params: Record<string, unknown>): boolean {
  return (
    headers.get("mcp-protocol-version") === mcpStatelessVersion ||
    metaOf(params)[mcpMeta.protocolVersion] === mcpStatelessVersion
  );
}

interface Claimed {
  readonly id: McpId | null;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** The version header must be one we speak and, without a session, equal to what the body says. */
function checkVersion(headers: Headers, { id, method, params }: Claimed): Response | null {
  const header = headers.get("mcp-protocol-version");
  const inBody = metaOf(params)[mcpMeta.protocolVersion];
  const unsupported = [header, inBody].find(
    (value) => value !== null && value !== undefined && !(mcpVersions as readonly unknown[]).includes(value),
  );
  if (unsupported !== undefined) {
    const requested =
      typeof unsupported === "string" && /^[0-9A-Za-z.-]{1,32}$/.test(unsupported) ? unsupported : "other";
    const data = { supported: [...mcpVersions], requested };
    return rpcError(400, { id, code: mcpErrors.unsupportedVersion, message: "Unsupported protocol version", data });
  }
  if (!isStateless(headers, params)) return null;
  const mismatch =
    header !== inBody ||
    differs(headers.get("mcp-method"), method) ||
    (method === "tools/call" && differs(headers.get("mcp-name"), params.name));
  if (!mismatch) return null;
  return rpcError(400, { id, code: mcpErrors.headerMismatch, message: "Headers and body do not agree" });
}

function differs(header: string | null, value: unknown): boolean {
  return header !== value;
}

interface Dispatch extends Claimed {
  readonly id: McpId;
  readonly request: Request;
  readonly stateless: boolean;
  readonly context: ToolContext;
}

async function dispatch(call: Dispatch): Promise<Response> {
  const { id, method, params, stateless, context } = call;
  const answer = (result: Record<string, unknown>, headers: Record<string, string> = {}) =>
    json(200, { jsonrpc: "2.0", id, result: stateless ? complete(result) : result }, headers);
  if (method === "initialize" && !stateless) {
    const session = call.request.headers.has("mcp-session-id")
      ? {}
      : { "mcp-session-id": `wc_mcp_${toHex(context.random(16))}` };
    return answer(initializeResult(params), session as Record<string, string>);
  }
  if (method === "server/discover" && stateless) {
    return answer({
      supportedVersions: [...mcpVersions],
      capabilities: { tools: { listChanged: false } },
      ttlMs: 60_000,
      cacheScope: "private",
    });
  }
  if (method === "ping" && !stateless) return answer({});
  if (method === "tools/list") {
    const scope = missingScope(context.principal, ["runtime:read"]);
    if (scope !== null) return missingScopeAnswer(scope);
    return answer(
      stateless ? { tools: mcpListTools(), ttlMs: 60_000, cacheScope: "private" } : { tools: mcpListTools() },
    );
  }
  if (method === "tools/call") return boundedCall(call, answer);
  return rpcError(stateless ? 404 : 400, { id, code: mcpErrors.methodNotFound, message: "Method not found" });
}

async function boundedCall(call: Dispatch, answer: (result: Record<string, unknown>) => Response): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), serverLimits.dispatchTimeoutMs);
  });
  const called = await Promise.race([mcpCallTool(call.params, call.context), late]);
  clearTimeout(timer);
  if (called === "late")
    return rpcError(400, { id: call.id, code: mcpErrors.timeout, message: "The call may still be running" });
  if ("scope" in called) return missingScopeAnswer(called.scope);
  if ("error" in called) return rpcError(400, { id: call.id, code: mcpErrors.invalidParams, message: called.error });
  return answer(called.result);
}

function complete(result: Record<string, unknown>): Record<string, unknown> {
  return { ...result, resultType: "complete", _meta: { [mcpMeta.serverInfo]: serverInfo } };
}

function initializeResult(params: Record<string, unknown>): Record<string, unknown> {
  return {
    protocolVersion: params.protocolVersion === "2025-11-25" ? "2025-11-25" : "2025-06-18",
    capabilities: { tools: { listChanged: false } },
    serverInfo,
  };
}

/** GET /mcp: no stream here, only what the endpoint is. */
export function mcpGet(request: Request): Response {
  const streams = (request.headers.get("accept") ?? "").includes("text/event-stream");
  if (streams || request.headers.get("mcp-protocol-version") === mcpStatelessVersion)
    return refusal(405, "no event stream here", { allow: "POST" });
  return json(200, {
    name: serverInfo.name,
    version,
    modelSurface: "adaptive",
    protocol: "mcp",
    protocolVersion: "2025-11-25",
    transport: "streamable-http-jsonrpc",
    endpoint: "/mcp",
    methods: ["initialize", "ping", "tools/list", "tools/call"],
    auth: { type: "bearer", required: true, header: "Authorization" },
  });
}
