// POST and GET /mcp: handshake, notifications, odd requests, and the rim in front of them.
import { expect, test } from "bun:test";
import { bootstrapToken, localServer } from "./local-server.ts";

const rpc = (method: string, more: object = {}) => ({ jsonrpc: "2.0", id: 1, method, ...more });

test("initialize, ping and tools/list answer; a session id is given once and never needed", async () => {
  await using server = await localServer();
  const initialize = (protocolVersion: string, headers = {}) =>
    server.post("/mcp", rpc("initialize", { params: { protocolVersion } }), { headers });

  const first = await initialize("2025-11-25");
  const older = await initialize("2024-01-01");
  const known = await initialize("2025-11-25", { "mcp-session-id": "wc_mcp_old" });
  const ping = await server.post("/mcp", rpc("ping"), { headers: { "mcp-session-id": "anything" } });
  const list = await server.post("/mcp", rpc("tools/list"));

  expect(first.body.result.protocolVersion).toBe("2025-11-25");
  expect(first.headers.get("mcp-session-id")).toMatch(/^wc_mcp_[0-9a-f]{32}$/);
  expect(older.body.result.protocolVersion).toBe("2025-06-18");
  expect(known.headers.get("mcp-session-id")).toBeNull();
  expect([ping.status, ping.body]).toEqual([200, { jsonrpc: "2.0", id: 1, result: {} }]);
  const names = list.body.result.tools.map((tool: { name: string }) => tool.name);
  expect(names).toContain("read_files");
  expect(names).toContain("call_runtime_tool");
});

test("a request without an id is 202 and empty, and half requests, batches and unknown methods are errors", async () => {
  await using server = await localServer();
  const code = async (body: unknown) => {
    const answer = await server.post("/mcp", body);
    return [answer.status, answer.body.error.code];
  };

  const note = await server.post("/mcp", { jsonrpc: "2.0", method: "notifications/initialized" });

  expect([note.status, note.body]).toEqual([202, {}]);
  expect(await code("{")).toEqual([400, -32700]);
  expect(await code([])).toEqual([400, -32600]);
  expect(await code([rpc("ping")])).toEqual([400, -32600]);
  expect(await code({ id: 1, method: "ping" })).toEqual([400, -32600]);
  expect(await code({ jsonrpc: "1.0", id: 1, method: "ping" })).toEqual([400, -32600]);
  expect(await code({ jsonrpc: "2.0", id: 1 })).toEqual([400, -32600]);
  expect(await code({ jsonrpc: "2.0", id: { a: 1 }, method: "ping" })).toEqual([400, -32600]);
  expect(await code({ jsonrpc: "2.0", id: 1.5, method: "ping" })).toEqual([400, -32600]);
  expect(await code(rpc("ping", { params: [] }))).toEqual([400, -32602]);
  expect(await code(rpc("resources/list"))).toEqual([400, -32601]);
  expect(await code(rpc("tools/call", { params: { name: "no_such_tool" } }))).toEqual([400, -32602]);
  expect(await code(rpc("tools/call", { params: { name: "list_goals" } }))).toEqual([400, -32602]);
  expect(
    await code(
      rpc("tools/call", { params: { name: "call_runtime_tool", arguments: { tool: "list_goals", more: 1 } } }),
    ),
  ).toEqual([400, -32602]);
});

test("a failed tool is HTTP 200 with isError over MCP and HTTP 400 over REST", async () => {
  await using server = await localServer();
  const wanted = { goal_id: "wc_goal_none" };

  const mcp = await server.post(
    "/mcp",
    rpc("tools/call", { params: { name: "call_runtime_tool", arguments: { tool: "get_goal", arguments: wanted } } }),
  );
  const rest = await server.post("/api/tools/call", { tool: "get_goal", params: wanted });

  expect([mcp.status, mcp.body.result.isError]).toEqual([200, true]);
  expect(mcp.body.result.structuredContent).toEqual(rest.body);
  expect(JSON.parse(mcp.body.result.content[0].text)).toEqual(rest.body);
  expect([rest.status, rest.body.success, rest.body.output.error_kind]).toEqual([400, false, "goal_not_found"]);
});

test("versions and policy headers that are unknown or do not agree are refused without an echo", async () => {
  await using server = await localServer();
  const ping = async (headers: Record<string, string>) => await server.post("/mcp", rpc("ping"), { headers });

  const version = await ping({ "mcp-protocol-version": "2099-01-01" });
  const mismatch = await ping({ "mcp-protocol-version": "2026-07-28" });
  const policy = await ping({ "x-webcodex-mcp-profile": "canary-profile" });
  const budget = await ping({ "x-webcodex-mcp-budget-secs": "0" });
  const direct = await ping({ "x-webcodex-mcp-profile": "direct", "x-webcodex-mcp-budget-secs": "55" });
  const session = await ping({ "mcp-session-id": "x".repeat(257) });

  expect(version.body.error.code).toBe(-32022);
  expect(version.body.error.data.supported).toContain("2025-11-25");
  expect(mismatch.body.error.code).toBe(-32020);
  expect([policy.status, budget.status, session.status, direct.status]).toEqual([400, 400, 400, 200]);
  expect(JSON.stringify(policy.body)).not.toContain("canary");
});

test("the rim refuses content types, origins, hosts, queries and bodies before anything runs", async () => {
  await using server = await localServer();
  const status = async (more: { headers?: Record<string, string>; path?: string; body?: unknown }) =>
    (await server.post(more.path ?? "/mcp", more.body ?? rpc("ping"), { headers: more.headers ?? {} })).status;
  const same = server.url.toLowerCase();

  expect(await status({ headers: { "content-type": "text/plain" } })).toBe(415);
  expect(await status({ headers: { "content-type": "application/json; charset=utf-8" } })).toBe(200);
  expect(await status({ headers: { origin: "http://evil.example" } })).toBe(403);
  expect(await status({ headers: { origin: "null" } })).toBe(403);
  expect(await status({ headers: { origin: same } })).toBe(200);
  expect(await status({ headers: { host: "evil.example" } })).toBe(403);
  expect(await status({ path: "/mcp?token=x" })).toBe(400);
  expect(await status({ path: "/nowhere" })).toBe(404);
  expect(await status({ body: `${"[".repeat(64)}${"]".repeat(64)}` })).toBe(400);
  expect(await status({ path: "/api/tools/call", body: `"${"x".repeat(2 * 1024 * 1024 - 2)}"` })).toBe(400);
  expect(await status({ path: "/api/tools/call", body: `"${"x".repeat(2 * 1024 * 1024 - 1)}"` })).toBe(413);
});

test("GET /mcp describes itself and streams nothing; health is open, figures need a token", async () => {
  await using server = await localServer();
  const authorization = `Bearer ${bootstrapToken}`;
  const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });

  const described = await get("/mcp", { authorization });
  const stream = await get("/mcp", { authorization, accept: "text/event-stream" });
  const stateless = await get("/mcp", { authorization, "mcp-protocol-version": "2026-07-28" });
  const unknown = await get("/mcp");
  const health = await get("/healthz");
  const ready = await get("/readyz");
  const closed = await get("/metrics");
  const figures = await get("/metrics", { authorization });

  expect(((await described.json()) as { transport: string }).transport).toBe("streamable-http-jsonrpc");
  expect([stream.status, stateless.status, unknown.status]).toEqual([405, 405, 401]);
  expect([health.status, ready.status, closed.status, figures.status]).toEqual([200, 200, 401, 200]);
  expect(await figures.text()).toContain("proctor_store_commits_total ");
});
