// Cases from the field, each as a test of its whole kind: foreign web pages, old session ids, odd JSON-RPC shapes.
import { expect, test } from "bun:test";
import { tempFolder } from "../support/temp-folder.ts";
import { bootstrapToken, localServer } from "./local-server.ts";
import { bootstrap, type Json, serve } from "./served.ts";

const rpc = (method: string, params: object = {}, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });

test("B18 no web page gets in with any Origin but the server's own, and the value is never echoed", async () => {
  await using server = await localServer();
  const list = JSON.stringify({ tool: "list_goals" });
  const canary = "https://evil-canary.example";
  const own = server.url;
  const origins = [
    canary,
    "null",
    "",
    "file://",
    own.replace("127.0.0.1", "127.0.0.2"),
    `${own}.evil.example`,
    `${own}0`,
  ];

  const refused: Array<readonly [number, string]> = [];
  for (const origin of origins)
    for (const path of ["/api/tools/call", "/mcp", "/api/agents/ws", "/console"]) {
      const get = path.endsWith("ws") || path === "/console";
      const answer = await fetch(server.url + path, {
        method: get ? "GET" : "POST",
        headers: { origin, authorization: `Bearer ${bootstrapToken}`, "content-type": "application/json" },
        ...(get ? {} : { body: list }),
      });
      refused.push([answer.status, await answer.text()]);
    }
  const lower = await server.post("/api/tools/call", list, {
    headers: { origin: own.toUpperCase().replace("HTTP", "http") },
  });
  const none = await server.post("/api/tools/call", list);

  expect(new Set(refused.map(([status]) => status))).toEqual(new Set([403]));
  expect(refused.map(([, text]) => text).join("")).not.toContain("canary");
  expect([lower.status, none.status]).toEqual([200, 200]);
});

test("B45 after a restart an old, a made-up and no session id all work, for two clients at once, and a write runs once", async () => {
  await using dir = await tempFolder();
  const ask = async (url: string, body: object, session?: string) => {
    const headers = { authorization: `Bearer ${bootstrap}`, "content-type": "application/json" };
    const answer = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: session === undefined ? headers : { ...headers, "mcp-session-id": session },
      body: JSON.stringify(body),
    });
    return {
      status: answer.status,
      session: answer.headers.get("mcp-session-id"),
      body: (await answer.json()) as Json,
    };
  };
  const goal = { title: "t", objective: "o", idempotency_key: "k" };
  const write = rpc("tools/call", { name: "call_runtime_tool", arguments: { tool: "create_goal", arguments: goal } });

  const first = await serve(dir.path);
  const hello = await ask(first.url, rpc("initialize", { protocolVersion: "2025-11-25" }));
  const made = await ask(first.url, write, hello.session!);
  await first.group.stop({ firstSignal: "SIGKILL" });
  const second = await serve(dir.path);
  const sessions = [hello.session!, "wc_mcp_made_up", undefined];
  const lists = await Promise.all([...sessions, ...sessions].map((id) => ask(second.url, rpc("tools/list"), id)));
  const writes = await Promise.all([...sessions, ...sessions].map((id) => ask(second.url, write, id)));
  const listGoals = { name: "call_runtime_tool", arguments: { tool: "list_goals" } };
  const goals = await ask(second.url, rpc("tools/call", listGoals));
  await second.group.stop({ firstSignal: "SIGINT" });

  const outputOf = (answer: { body: Json }) => answer.body.result.structuredContent.output;
  expect([...lists, ...writes].map((answer) => answer.status)).toEqual(Array(12).fill(200));
  expect(outputOf(made).created).toBe(true);
  for (const answer of writes)
    expect(outputOf(answer)).toMatchObject({ created: false, replayed: true, goal: outputOf(made).goal });
  expect(outputOf(goals).total_count).toBe(1);
}, 120_000);

test("B46 odd JSON-RPC shapes are refused before anything of them runs, and an id comes back as it was sent", async () => {
  await using server = await localServer();
  const goal = { title: "t", objective: "o", idempotency_key: "k" };
  const write = rpc("tools/call", { name: "call_runtime_tool", arguments: { tool: "create_goal", arguments: goal } });
  const ask = async (body: unknown) => {
    const answer = await server.post("/mcp", body);
    return { status: answer.status, id: answer.body.id, code: answer.body.error?.code };
  };
  const refused = async (body: unknown, code: number) =>
    expect({ body: JSON.stringify(body).slice(0, 80), ...(await ask(body)) }).toMatchObject({ status: 400, code });

  await refused([], -32600);
  await refused([write, rpc("tools/call", { name: "no_such_tool" }, 2)], -32600);
  await refused([{ jsonrpc: "2.0", method: "notifications/initialized" }], -32600);
  await refused(rpc("tools/list", {}, null), -32600);
  for (const id of [{}, [], 1.5, true, Number.MAX_SAFE_INTEGER + 2]) await refused({ ...write, id }, -32600);
  for (const jsonrpc of [undefined, "1.0", 2, ""]) await refused({ ...write, jsonrpc }, -32600);
  await refused({ ...write, params: "text" }, -32602);
  await refused({ ...write, params: [write.params] }, -32602);
  await refused({ ...write, method: 7 }, -32600);
  await refused("null", -32600);
  await refused('"text"', -32600);
  await refused(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${"[".repeat(10_000)}${"]".repeat(10_000)}}`, -32700);
  await refused('{"jsonrpc":"2.0","id":1,"method":"ping"', -32700);
  // Of a repeated key the last one counts, for the method that is run and for the id that comes back alike.
  const twice = await server.post("/mcp", '{"jsonrpc":"2.0","id":1,"id":"b","method":"tools/list","method":"ping"}');
  const ids = [];
  for (const id of ["a", "", 0, -1, "1"]) ids.push((await server.post("/mcp", rpc("ping", {}, id))).body.id);

  expect(twice.body).toEqual({ jsonrpc: "2.0", id: "b", result: {} });
  expect(ids).toEqual(["a", "", 0, -1, "1"]);
  expect((await server.call(bootstrapToken, "list_goals", {})).output.total_count).toBe(0);
});
