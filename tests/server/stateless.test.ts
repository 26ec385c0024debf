// The stateless protocol version: every request says what it is in headers and body, and both have to agree.
import { expect, test } from "bun:test";
import { localServer } from "./local-server.ts";

const version = "2026-07-28";
const meta = { "io.modelcontextprotocol/protocolVersion": version };

test("a stateless request answers with its server's name, and a header that differs from the body is -32020", async () => {
  await using server = await localServer();
  const ask = async (method: string, params: object = {}, headers: Record<string, string> = {}) =>
    await server.post(
      "/mcp",
      { jsonrpc: "2.0", id: "a", method, params: { _meta: meta, ...params } },
      { headers: { "mcp-protocol-version": version, "mcp-method": method, ...headers } },
    );
  const call = { name: "call_runtime_tool", arguments: { tool: "list_goals" } };

  const found = await ask("server/discover");
  const listed = await ask("tools/list");
  const called = await ask("tools/call", call, { "mcp-name": "call_runtime_tool" });
  const wrong = [
    await ask("tools/list", {}, { "mcp-method": "ping" }),
    await ask("tools/call", call, { "mcp-name": "read_files" }),
    await ask("tools/list", { _meta: {} }),
    await ask("tools/list", {}, { "mcp-protocol-version": "2025-11-25" }),
  ];
  const initialize = await ask("initialize");

  expect(found.body.result.supportedVersions).toEqual(["2025-06-18", "2025-11-25", version]);
  expect([found, listed, called].map((answer) => answer.body.result.resultType)).toEqual(Array(3).fill("complete"));
  expect(called.body.result.structuredContent.output.goals).toEqual([]);
  expect(wrong.map((answer) => [answer.status, answer.body.error.code])).toEqual(Array(4).fill([400, -32020]));
  expect([initialize.status, initialize.body.error.code]).toEqual([404, -32601]);
});
