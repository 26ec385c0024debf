// A token that ends by itself: one second before its moment it counts everywhere, from its moment on nowhere, and every
// list says which it is.
import { expect, test } from "bun:test";
import { systemRandom } from "../../src/base/random.ts";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";
import { operatorCreateToken } from "../../src/server/operator.ts";
import { openRunnerLink } from "../../src/server/runner-link.ts";
import { handClock } from "../support/hand-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bootstrapToken, type LocalServer, localServer } from "./local-server.ts";
import { post, serve, serverEnvironment } from "./served.ts";

const startMs = Date.UTC(2026, 0, 1);
const expiresAt = startMs / 1000 + 60;

const legacy = { jsonrpc: "2.0", id: 1, method: "ping" };
const stateless = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/list",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};
const statelessHeaders = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" };

/** Status and fixed word of every way in that a person's token opens. */
async function everyWay(server: LocalServer, token: string): Promise<Record<string, string>> {
  const word = ({ status, body }: { status: number; body: { error?: unknown } }) =>
    status === 200 ? "200" : `${status} ${String(body.error)}`;
  const get = async (path: string) => {
    const answer = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } });
    const refused = answer.status === 401 ? ((await answer.json()) as { error: string }).error : "";
    return `${answer.status} ${refused}`.trim();
  };
  const wait = { tool: "observe_coding_agent", params: { run_id: "wc_run_none", wait_secs: 5 } };
  return {
    mcp: word(await server.post("/mcp", legacy, { token })),
    mcpStateless: word(await server.post("/mcp", stateless, { token, headers: statelessHeaders })),
    mcpGet: await get("/mcp"),
    call: word(await server.post("/api/tools/call", { tool: "list_goals" }, { token })),
    longPoll: word(await server.post("/api/tools/call", wait, { token })),
    tools: word(await server.post("/api/tools/list", {}, { token })),
    tokens: word(await server.post("/api/tokens/list", {}, { token })),
    console: word(await server.post("/api/runtime-console/runs", {}, { token })),
    metrics: await get("/metrics"),
  };
}

test("a token past its expires_at is unauthorized on REST, MCP, the long poll and the pages, not a second before", async () => {
  const clock = handClock({ wallMs: startMs });
  await using server = await localServer(undefined, { clock });
  await server.post("/api/users/create", { username: "ann" });
  const scopes = ["runtime:read", "communication:read", "project:read", "coding_agent:run"];
  const made = await server.post("/api/tokens/create", { username: "ann", scopes, expires_at: expiresAt });

  clock.advance(59_999);
  const before = await everyWay(server, made.body.token);
  clock.advance(1);
  const after = await everyWay(server, made.body.token);
  await server.restart();
  const restarted = await everyWay(server, made.body.token);

  expect(Object.values(before).filter((one) => one.startsWith("401"))).toEqual([]);
  expect([before.mcp, before.mcpStateless, before.call, before.tools, before.tokens]).toEqual(Array(5).fill("200"));
  expect(new Set(Object.values(after))).toEqual(new Set(["401 Unauthorized"]));
  expect(restarted).toEqual(after);
});

test("an agent token past its expires_at opens no Runner's socket, not a second before", async () => {
  const clock = handClock({ wallMs: startMs });
  await using server = await localServer(undefined, { clock, openLink: openRunnerLink });
  await server.post("/api/users/create", { username: "ann" });
  const wish = { username: "ann", client_id: "host", expires_at: expiresAt };
  const { token } = (await server.post("/api/agent-tokens/create", wish)).body;

  clock.advance(59_999);
  const before = await opens(server, token);
  clock.advance(1);
  const after = await opens(server, token);
  const refused = await fetch(`${server.url}/api/agents/ws`, { headers: { authorization: `Bearer ${token}` } });

  expect([before, after]).toEqual([true, false]);
  expect([refused.status, await refused.json()]).toEqual([401, { error: "Unauthorized" }]);
});

/** True when the server takes the socket of this token. */
async function opens(server: LocalServer, token: string): Promise<boolean> {
  const headers = { Authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/agents/ws`, { headers } as never);
  return await new Promise((resolve) => {
    socket.onopen = () => {
      resolve(true);
      socket.close();
    };
    socket.onclose = () => resolve(false);
  });
}

test("every list calls a token live, expired or revoked, and revoking outlasts expiry", async () => {
  const clock = handClock({ wallMs: startMs });
  await using server = await localServer(undefined, { clock });
  await server.post("/api/users/create", { username: "ann" });
  const make = async (name: string, expires?: number) =>
    (await server.post("/api/tokens/create", { username: "ann", name, expires_at: expires })).body;
  const states = async (token: string) =>
    (await server.post("/api/tokens/list", {}, { token })).body.tokens.map(
      (one: { name: string; state: string }) => `${one.name} ${one.state}`,
    );

  const lasting = await make("lasting");
  await make("ending", expiresAt);
  const revoked = await make("revoked", expiresAt);
  await server.post("/api/tokens/revoke", { token_id: revoked.token_id });
  const before = await states(lasting.token);
  clock.advance(60_000);
  const after = await states(lasting.token);
  const late = await server.post("/api/tokens/create", { username: "ann", name: "late", expires_at: expiresAt });
  const next = await server.post("/api/tokens/create", { username: "ann", name: "next", expires_at: expiresAt + 1 });

  expect(before.sort()).toEqual(["ending live", "lasting live", "revoked revoked"]);
  expect(after.sort()).toEqual(["ending expired", "lasting live", "revoked revoked"]);
  expect([late.status, late.body.error, next.status]).toEqual([400, "expires_at must be in the future", 200]);
  expect((await states(bootstrapToken)).length).toBe(4);
});

test("server token list says that a token of the operator has expired, and the running server refuses it", async () => {
  await using dir = await tempFolder();
  await (await serve(dir.path)).group.stop({ firstSignal: "SIGINT" });
  const hourAgoMs = Date.now() - 3_600_000;
  const wish = { username: "ann", name: "ci", scopes: ["communication:read"], createUser: true };
  const { token } = await operatorCreateToken(
    `${dir.path}/data`,
    { ...wish, expiresAt: Math.floor(hourAgoMs / 1000) + 60 },
    { wallMs: hourAgoMs, random: systemRandom },
  );

  const { group, url } = await serve(dir.path);
  const answer = await post(`${url}/api/tools/call`, { tool: "list_goals" }, token);
  const { command, args } = selfCommand(["server", "token", "list"]);
  const env = serverEnvironment(dir.path, 1);
  const listed = await runProgram({ command, args, cwd: dir.path, env, timeoutMs: 60_000, maxOutputBytes: 65_536 });
  await group.stop({ firstSignal: "SIGINT" });

  expect(answer).toEqual({ error: "Unauthorized" });
  expect(JSON.parse(new TextDecoder().decode(listed.stdout)).tokens).toMatchObject([{ name: "ci", state: "expired" }]);
}, 180_000);
