// Every tool and route against every right it asks for: without exactly one of them nothing runs, and the missing one
// is named. The operator's token commands, on a server that runs and on one that does not.
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";
import { isScope, knownScopes } from "../../src/contract/scopes.ts";
import { allTools } from "../../src/server/tools/registry.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bootstrapToken, localServer } from "./local-server.ts";
import { type Json, post, serve, serverEnvironment } from "./served.ts";

test("each tool names each right it lacks, over REST and over MCP, before it looks at its arguments", async () => {
  await using server = await localServer();
  const wanted = [...new Set(allTools.flatMap((tool) => tool.scopes))];
  const tokens = new Map<string, string>();
  for (const missing of wanted)
    tokens.set(
      missing,
      await server.token(
        "ann",
        knownScopes.filter((scope) => scope !== missing && scope !== "admin"),
      ),
    );

  const wrong: string[] = [];
  for (const tool of allTools)
    for (const scope of tool.scopes) {
      const token = tokens.get(scope)!;
      const rest = await server.post("/api/tools/call", { tool: tool.name, params: { nonsense: 1 } }, { token });
      const named = rest.status === 403 && rest.body.error === `missing required scope: ${scope}`;
      if (!named) wrong.push(`REST ${tool.name} ${scope}`);
      if (tool.visibility === "hidden" || tool.bootstrapOnly === true) continue;
      const params = { name: "call_runtime_tool", arguments: { tool: tool.name, arguments: { nonsense: 1 } } };
      const mcp = await server.post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params }, { token });
      if (mcp.status !== 403 || mcp.body.error !== rest.body.error) wrong.push(`MCP ${tool.name} ${scope}`);
    }

  expect(wanted.every(isScope)).toBe(true);
  expect(allTools.filter((tool) => tool.scopes.length === 0 && tool.bootstrapOnly !== true)).toEqual([]);
  expect(wrong).toEqual([]);
});

test("each route answers nobody without a bearer, no agent token, and only with its right", async () => {
  await using server = await localServer();
  const none = await server.token("ann", []);
  const agent = (await server.post("/api/agent-tokens/create", { username: "ann", client_id: "box" })).body.token;
  const table: ReadonlyArray<readonly [string, number]> = [
    ["/mcp", 400], // an empty body is no JSON-RPC; tools/list and tools/call ask for more
    ["/api/tools/call", 400],
    ["/api/tools/list", 403],
    ["/api/users/create", 403],
    ["/api/tokens/create", 400],
    ["/api/agent-tokens/create", 400],
    ["/api/tokens/list", 200],
    ["/api/tokens/revoke", 400],
    ["/api/runtime-console/projects", 403],
    ["/api/runtime-console/workflow-sessions", 403],
  ];

  for (const [path, poor] of table) {
    const ask = async (token: string) => (await server.post(path, {}, { token })).status;
    expect([path, await ask("nobody"), await ask(agent), await ask(none)]).toEqual([path, 401, 403, poor]);
    const get = await fetch(server.url + path, { headers: { authorization: `Bearer ${none}` } });
    expect([path, get.status]).toEqual([path, path === "/mcp" ? 403 : 405]);
  }
  for (const [path, open] of [
    ["/healthz", 200],
    ["/readyz", 200],
    ["/metrics", 401],
  ] as const)
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, open]);
  const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${none}` } });
  expect([metrics.status, (await server.post("/nowhere", {}, { token: bootstrapToken })).status]).toEqual([403, 404]);
});

test("server token makes, lists and revokes on a stopped and on a running server, and no list shows a token", async () => {
  await using dir = await tempFolder();
  const first = await serve(dir.path);
  await first.group.stop({ firstSignal: "SIGINT" });
  const run = async (...words: string[]) => {
    const { command, args } = selfCommand(["server", "token", ...words]);
    const env = serverEnvironment(dir.path, 1);
    const done = await runProgram({ command, args, cwd: dir.path, env, timeoutMs: 60_000, maxOutputBytes: 65_536 });
    return { code: done.code, out: new TextDecoder().decode(done.stdout), err: new TextDecoder().decode(done.stderr) };
  };
  const make = async (...more: string[]) =>
    JSON.parse((await run("create", "--user", "ann", "--scope", "communication:read", "--json", ...more)).out) as Json;

  const stopped = await make("--new-user");
  const filed = await make("--file", "token.txt");
  const { group, url } = await serve(dir.path);
  const ask = (token: string) => post(`${url}/api/tools/call`, { tool: "list_goals" }, token);
  const running = await make();
  const before = [await ask(stopped.token), await ask(running.token)];
  const listed = await run("list", "--json");
  const revoked = await run("revoke", stopped.token_id);
  const after = [await ask(stopped.token), await ask(running.token)];
  await group.stop({ firstSignal: "SIGINT" });
  const revokedStopped = await run("revoke", running.token_id);
  const unknown = await run("revoke", "wc_token_none");
  const bad = await run("create", "--user", "ann", "--scope", "fly:moon");
  const states = (JSON.parse((await run("list", "--json")).out) as Json).tokens;

  expect(before.map((answer) => answer.success)).toEqual([true, true]);
  expect(after.map((answer) => answer.success ?? answer.error)).toEqual(["Unauthorized", true]);
  expect([revoked.code, revokedStopped.code, unknown.code, bad.code]).toEqual([0, 0, 1, 1]);
  expect(bad.err + unknown.err).toContain("token_unknown");
  expect(filed).not.toHaveProperty("token");
  expect(statSync(`${dir.path}/token.txt`).mode & 0o777).toBe(0o600);
  expect(readFileSync(`${dir.path}/token.txt`, "utf8")).toMatch(/^wc_pat_[0-9a-f]{64}\n$/);
  expect(listed.out).not.toContain(stopped.token);
  expect(listed.out).not.toContain(running.token);
  expect(states.filter((one: Json) => one.revoked_at !== null)).toHaveLength(2);
  expect(readFileSync(`${dir.path}/data/server.sqlite`).includes(running.token)).toBe(false);
}, 180_000);
