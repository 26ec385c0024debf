// The official SDKs as a second opinion: their client against our server, their agent against our runner.
import { expect, test } from "bun:test";
import { agent, ndJsonStream } from "@agentclientprotocol/sdk";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { ProcessGroup } from "../../src/base/process-group.ts";
import { readUpdate } from "../../src/contract/acp.ts";
import { AcpClient } from "../../src/runner/acp-client.ts";
import { cancelledOutcome } from "../../src/runner/permissions.ts";
import { setUpSession } from "../../src/runner/run-setup.ts";
import { ControlPair } from "../support/control-pair.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("the official MCP client connects, lists, reads a file, calls through the gateway and sees a refusal as one", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "plain" });
  await pair.start();
  const client = new Client({ name: "second-opinion", version: "1.0.0" });
  const headers = { authorization: `Bearer ${pair.pat}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${pair.url}/mcp`), { requestInit: { headers } });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });

  const listed = await client.listTools();
  const read = await call("read_files", { project: "agent:box:fixture", items: [{ path: "a.txt" }] });
  const tasks = await call("call_runtime_tool", { tool: "list_agent_tasks", arguments: {} });
  const refused = await call("call_runtime_tool", { tool: "read_agent_task", arguments: { task_id: "x" } });
  const hidden = await call("record_external_observation", {}).then(
    () => "called",
    (error) => String(error),
  );
  await client.ping();
  await client.close();

  expect(client.getServerVersion()?.name).toBe("proctor-server");
  expect(listed.tools.map((tool) => tool.name)).toContain("call_runtime_tool");
  expect(read.structuredContent).toMatchObject({
    success: true,
    output: { items: [{ output: { text: "one\ntwo\n" } }] },
  });
  expect(tasks.structuredContent).toMatchObject({ success: true, output: { tasks: [] } });
  expect(refused).toMatchObject({
    isError: true,
    structuredContent: { output: { error_kind: "agent_task_not_found" } },
  });
  expect(hidden).toContain("-32602");
}, 120_000);

test("an agent of the official ACP SDK takes our frames, shows the forced value, and gets its permission answered", async () => {
  const [toAgent, fromAgent] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
  const said: unknown[] = [];
  const asked: Array<readonly [unknown, string]> = [];
  officialAgent(ndJsonStream(fromAgent.writable, toAgent.readable));
  const writer = toAgent.writable.getWriter();
  const group = {
    stdin: {
      write: (bytes: Uint8Array) => void writer.write(bytes),
      flush: async () => undefined,
      end: () => writer.close(),
    },
    stdout: fromAgent.readable,
    exited: new Promise(() => undefined),
  } as unknown as ProcessGroup;
  const client = new AcpClient(group, {
    notification: (_method, params) => said.push(readUpdate(params)?.text),
    request(id, method) {
      asked.push([typeof id, method]);
      void client.respond(id, { result: cancelledOutcome });
    },
    lost: () => undefined,
  });
  const ask = (method: string, params: unknown) =>
    new Promise<unknown>((resolve, reject) => {
      void client.request(method, params, (answer) =>
        answer.ok ? resolve(answer.result) : reject(new Error(answer.message)),
      );
    });

  const wishes = { cwd: "/work", forced: { model: "model-b" }, wanted: {}, allowed: [] };
  const sessionId = await setUpSession(ask, wishes);
  const end = await ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "Do it" }] });

  expect(end).toMatchObject({ stopReason: "end_turn" });
  expect(said).toEqual(["1 block on model-b", "permission cancelled"]);
  expect(asked).toEqual([["number", "session/request_permission"]]);
  await client.end();
});

/** Says what it was prompted with, asks for a permission, says how it was answered, and ends the turn. */
function officialAgent(stream: ReturnType<typeof ndJsonStream>): void {
  let current = "model-a";
  const options = ["model-a", "model-b"].map((value) => ({ value, name: value }));
  const configOptions = () => [{ id: "model", name: "Model", type: "select" as const, currentValue: current, options }];
  agent({ name: "official-sdk" })
    .onRequest("initialize", ({ params }) => ({ protocolVersion: params.protocolVersion }))
    .onRequest("session/new", () => ({ sessionId: "s", configOptions: configOptions() }))
    .onRequest("session/set_config_option", ({ params }) => {
      if (typeof params.value === "string") current = params.value;
      return { configOptions: configOptions() };
    })
    .onRequest("session/prompt", async ({ params: { sessionId, prompt }, client }) => {
      const say = (text: string) =>
        client.notify("session/update", {
          sessionId,
          update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
        });
      await say(`${prompt.length} block on ${current}`);
      const { outcome } = await client.request("session/request_permission", {
        sessionId,
        toolCall: { toolCallId: "t", title: "Run" },
        options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      });
      await say(`permission ${outcome.outcome}`);
      return { stopReason: "end_turn" };
    })
    .connect(stream);
}
