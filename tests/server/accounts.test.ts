// Users and tokens: who may make and see which, what a token may do, and when it stops counting.
import { expect, test } from "bun:test";
import { bootstrapToken, localServer } from "./local-server.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

test("a user is made once, by bootstrap or an admin only, and its shape is the documented one", async () => {
  await using server = await localServer();
  const make = (body: unknown, token = bootstrapToken) => server.post("/api/users/create", body, { token });

  const made = await make({ username: "ann", display_name: "Ann" });
  const again = await make({ username: "ann" });
  const root = await make({ username: "root", role: "admin" });
  const admin = (await server.post("/api/tokens/create", { username: "root", scopes: ["admin"] })).body.token;
  const byAdmin = await make({ username: "bob" }, admin);
  const ann = await server.token("ann", ["runtime:read"]);
  const byUser = await make({ username: "eve" }, ann);
  const statuses = [];
  for (const body of [{}, { username: "" }, { username: "a/b" }, { username: "x".repeat(65) }, { username: "y", a: 1 }])
    statuses.push((await make(body)).status);
  const long = await make({ username: "x".repeat(64), display_name: "d".repeat(128) });
  const longer = await make({ username: "z", display_name: "d".repeat(129) });

  expect(made.body.user).toEqual({
    id: expect.stringMatching(/^wc_user_/),
    username: "ann",
    display_name: "Ann",
    role: "user",
    disabled: false,
    disabled_at: null,
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  });
  expect([again.status, again.body.error]).toEqual([409, "username already exists"]);
  expect([root.status, byAdmin.status, byUser.status]).toEqual([200, 200, 403]);
  expect(statuses).toEqual([400, 400, 400, 400, 400]);
  expect([long.status, longer.status]).toEqual([200, 400]);
});

test("a token is shown once, grants no more than its maker holds, and refuses unknown scopes, users and pasts", async () => {
  await using server = await localServer();
  const ann = await server.token("ann", ["runtime:read", "project:read"]);
  await server.token("bob", []);
  const make = (body: unknown, token = bootstrapToken) => server.post("/api/tokens/create", body, { token });

  const made = await make({ username: "ann", scopes: ["runtime:read", "runtime:read"], name: "ci" });
  const own = await make({ username: "ann", scopes: ["project:read"] }, ann);
  const wider = await make({ username: "ann", scopes: ["project:write"] }, ann);
  const admin = await make({ username: "ann", scopes: ["admin"] }, ann);
  const other = await make({ username: "bob", scopes: [] }, ann);
  const unknown = await make({ username: "ann", scopes: ["fly:moon"] });
  const nobody = await make({ username: "nobody" });
  const past = await make({ username: "ann", expires_at: 1 });

  expect(made.body).toMatchObject({ success: true, name: "ci", username: "ann", scopes: ["runtime:read"] });
  expect(made.body.token).toMatch(/^wc_pat_[0-9a-f]{64}$/);
  expect(made.body.token_prefix).toBe(made.body.token.slice(0, 16));
  expect(made.body.expires_at).toBeNull();
  expect([own.status, wider.status, admin.status, other.status]).toEqual([200, 403, 403, 403]);
  expect([unknown.status, unknown.body.error]).toEqual([400, "unknown scope 'fly:moon'"]);
  expect([nobody.status, nobody.body.error, past.status]).toEqual([404, "user not found", 400]);
});

test("a token counts until it is revoked, and a list shows its owner's tokens without any text", async () => {
  await using server = await localServer();
  const ann = await server.token("ann", ["runtime:read"]);
  const bob = await server.token("bob", ["runtime:read"]);
  const list = (token: string) => server.post("/api/tokens/list", {}, { token });
  const revoke = (token: string, token_id: string) => server.post("/api/tokens/revoke", { token_id }, { token });

  const before = await server.post("/mcp", ping, { token: ann });
  const anns = await list(ann);
  const id = anns.body.tokens[0].token_id;
  const foreign = await revoke(bob, id);
  const done = await revoke(ann, id);
  const after = await server.post("/mcp", ping, { token: ann });
  await server.restart();
  const later = await server.post("/mcp", ping, { token: ann });
  const all = await list(bootstrapToken);

  expect([before.status, foreign.status, done.status, after.status, later.status]).toEqual([200, 404, 200, 401, 401]);
  expect(anns.body.tokens).toHaveLength(1);
  expect(anns.body.tokens[0].username).toBe("ann");
  expect(all.body.tokens).toHaveLength(2);
  expect(JSON.stringify(all.body)).not.toContain(ann);
});

test("an agent token holds agent scopes, is bound to its client, and reaches nothing but the agent transport", async () => {
  await using server = await localServer();
  await server.token("ann", []);
  const make = (body: unknown) => server.post("/api/agent-tokens/create", body);

  const made = await make({ username: "ann", client_id: "host", name: "runner" });
  const scoped = await make({ username: "ann", client_id: "host", scopes: ["runtime:read"] });
  const noClient = await make({ username: "ann" });
  const token = made.body.token;
  const mcp = await server.post("/mcp", ping, { token });
  const rest = await server.post("/api/tools/call", { tool: "list_goals" }, { token });
  const socket = await fetch(`${server.url}/api/agents/ws`, { headers: { authorization: `Bearer ${bootstrapToken}` } });

  expect(token).toMatch(/^wc_agent_[0-9a-f]{64}$/);
  expect(made.body).toMatchObject({ kind: "agent", allowed_client_id: "host", username: "ann", name: "runner" });
  expect(made.body.scopes).toEqual(["agent:register", "agent:poll", "agent:result", "agent:job_update"]);
  expect([scoped.status, noClient.status]).toEqual([400, 400]);
  expect([mcp.status, rest.status]).toEqual([403, 403]);
  expect(socket.status).toBe(403);
});

test("every missing scope is named, and no bearer but a well-formed known one is let in", async () => {
  await using server = await localServer();
  const none = await server.token("ann", []);
  const call = async (tool: string) => (await server.post("/api/tools/call", { tool }, { token: none })).body;
  const bearer = async (authorization: string) =>
    (await server.post("/mcp", ping, { headers: { authorization } })).status;

  expect(await call("list_goals")).toEqual({ status: 403, error: "missing required scope: communication:read" });
  expect(await call("read_session_handoff")).toEqual({ status: 403, error: "missing required scope: runtime:read" });
  expect(await call("close_session")).toEqual({ status: 403, error: "missing required scope: session:collaborate" });
  expect((await server.post("/mcp", { ...ping, method: "tools/list" }, { token: none })).status).toBe(403);
  expect((await server.post("/api/tools/list", {}, { token: none })).status).toBe(403);
  expect(await bearer("")).toBe(401);
  expect(await bearer(`Basic ${bootstrapToken}`)).toBe(401);
  expect(await bearer(bootstrapToken)).toBe(401);
  expect(await bearer(`Bearer ${bootstrapToken}x`)).toBe(401);
  expect(await bearer(`Bearer ${"x".repeat(513)}`)).toBe(401);
});

test("/api/tools/call takes params, arguments or loose keys, and refuses what names no tool", async () => {
  await using server = await localServer();
  const call = (body: unknown) => server.post("/api/tools/call", body);

  const loose = await call({ tool: "list_goals", limit: 1, recording_session_id: "wc_sess_x" });
  const params = await call({ tool: "list_goals", params: { limit: 1 }, arguments: { limit: "no" } });
  const args = await call({ tool: "list_goals", params: null, arguments: { limit: 1 } });
  const refused = [];
  for (const body of ["{", [], {}, { tool: "" }, { tool: "no_such" }, { tool: "list_goals", params: { more: 1 } }])
    refused.push((await call(body)).status);

  expect(loose.body).toEqual({
    success: true,
    output: { total_count: 0, offset: 0, next_offset: null, truncated: false, goals: [] },
  });
  expect([params.body, args.body]).toEqual([loose.body, loose.body]);
  expect(refused).toEqual([400, 400, 400, 400, 400, 400]);
});
