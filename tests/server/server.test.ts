// biome-ignore-all lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
// The rim and the tools that need no Runner, over real HTTP against a server of this process.
import { expect, test } from "bun:test";
import { Secret } from "../../src/base/secret.ts";
import { noRunners } from "../../src/server/no-runners.ts";
import type { ConnectedRunner, RunnerLink } from "../../src/server/runner-registry.ts";
import { openServer, type RunningServer } from "../../src/server/server.ts";
import { tempFolder } from "../support/temp-folder.ts";

const bootstrap = "bootstrap-token-for-tests-only";
const project = "agent:host:fixture";

/** A link on which one Runner of ann is connected and answers nothing. */
function annsRunner(): RunnerLink {
  const row = { id: project, clientId: "host", projectId: "fixture", name: null, path: "/x", allowPatch: true };
  const runner: ConnectedRunner = {
    clientId: "host",
    owner: "ann",
    instanceId: "one",
    capabilities: {},
    providers: [],
    projects: [{ ...row, disabled: false, description: null, revision: null }],
    registeredAtMs: 1,
    lastSeenMs: 1,
  };
  return { ...noRunners(), runners: () => [runner], runner: (id) => (id === "host" ? runner : null) };
}

function start(folder: string): Promise<RunningServer> {
  return openServer({
    address: "127.0.0.1:0",
    dataFolder: `${folder}/data`,
    bootstrap: Secret.from(bootstrap),
    openLink: annsRunner,
  });
}

async function post(server: RunningServer, path: string, call: { token?: string; body: unknown }) {
  const answer = await fetch(server.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${call.token ?? bootstrap}`, "content-type": "application/json" },
    body: JSON.stringify(call.body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, any> };
}

async function userToken(server: RunningServer, username: string, scopes: readonly string[]): Promise<string> {
  await post(server, "/api/users/create", { body: { username } });
  return (await post(server, "/api/tokens/create", { body: { username, scopes } })).body.token;
}

const scopes = ["runtime:read", "project:read", "session:collaborate", "communication:read", "communication:manage"];

test("record_external_observation replays, conflicts, survives a restart and stays the owner's (O046 O054 O055 O059 O060 O070)", async () => {
  await using dir = await tempFolder();
  let server = await start(dir.path);
  const ann = await userToken(server, "ann", scopes);
  const bob = await userToken(server, "bob", scopes);
  const call = (token: string, tool: string, params: unknown) =>
    post(server, "/api/tools/call", { token, body: { tool, params } });
  const session = (await call(ann, "work_on_project", { project, instruction: "fix it" })).body.output;
  const report = { project, session_id: session.session_id, adapter_id: "a".repeat(64), event_id: "b".repeat(64) };

  const first = (await call(ann, "record_external_observation", { ...report, observed_tool: "Bash", exit_code: null }))
    .body;
  await server.close();
  server = await start(dir.path);
  const again = (await call(ann, "record_external_observation", { ...report, observed_tool: "Bash" })).body;
  const other = (await call(ann, "record_external_observation", { ...report, observed_tool: "Edit" })).body;
  const foreign = (await call(bob, "list_external_observations", { project, session_id: session.session_id })).body;
  await call(ann, "close_session", { session_id: session.session_id });
  const late = (
    await call(ann, "record_external_observation", { ...report, event_id: "c".repeat(64), observed_tool: "Bash" })
  ).body;
  const kept = (await call(ann, "list_external_observations", { project, session_id: session.session_id })).body.output;
  await server.close();

  expect(first.output.inserted).toBe(true);
  expect(first.output.observation.status).toBe("unknown");
  expect(again.output).toEqual({ ...first.output, inserted: false });
  expect(other.output.error_kind).toBe("external_observation_conflict");
  expect(foreign.output.error_kind).toBe("unknown_session");
  expect(late.output.error_kind).toBe("session_closed");
  expect(kept.observations).toEqual([first.output.observation]);
});

test("create_goal replays under its key, conflicts under another request, and is fenced by its revision", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const call = (tool: string, params: unknown) => post(server, "/api/tools/call", { body: { tool, params } });
  const wanted = { title: "t", objective: "o", steps: [{ id: "one", title: "One" }], idempotency_key: "k" };

  const made = (await call("create_goal", wanted)).body.output;
  const again = (await call("create_goal", wanted)).body.output;
  const other = (await call("create_goal", { ...wanted, title: "u" })).body.output;
  const goal_id = made.goal.summary.goal_id;
  const early = (
    await call("update_goal", { goal_id, expected_revision: 1, lifecycle: "completed", idempotency_key: "u1" })
  ).body.output;
  const step = { goal_id, expected_revision: 1, completed_step_ids: ["one"], idempotency_key: "c1" };
  const checked = (await call("checkpoint_goal", step)).body.output;
  const stale = (await call("checkpoint_goal", { ...step, idempotency_key: "c2" })).body.output;
  await server.close();

  expect(again).toMatchObject({ created: false, replayed: true, state_changed: false, goal: made.goal });
  expect(other.error_kind).toBe("communication_idempotency_conflict");
  expect(early.error_kind).toBe("goal_steps_incomplete");
  expect(checked.goal.summary.revision).toBe(2);
  expect(stale).toMatchObject({ error_kind: "goal_revision_changed", current_revision: 2 });
});

test("the rim refuses unknown bearers, foreign hosts and origins, missing scopes and hidden tools over MCP (O045 O047)", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const reader = await userToken(server, "ann", ["runtime:read"]);
  const headers = { authorization: `Bearer ${bootstrap}`, "content-type": "application/json" };
  const rpc = (params: unknown) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params });

  const wrong = await post(server, "/api/tools/call", { token: "wrong", body: {} });
  const origin = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: { ...headers, origin: "http://evil.example" },
    body: "{}",
  });
  const scope = await post(server, "/api/tools/call", { token: reader, body: { tool: "list_projects" } });
  const hidden = await post(server, "/mcp", {
    body: rpc({ name: "call_runtime_tool", arguments: { tool: "record_external_observation" } }),
  });
  const batch = await post(server, "/mcp", { body: [] });
  const nullId = await post(server, "/mcp", { body: { jsonrpc: "2.0", id: null, method: "ping" } });
  await server.close();

  expect(wrong).toEqual({ status: 401, body: { error: "Unauthorized" } });
  expect(origin.status).toBe(403);
  expect(scope).toEqual({ status: 403, body: { status: 403, error: "missing required scope: project:read" } });
  expect(hidden.body.error.code).toBe(-32602);
  expect(batch.body.error.code).toBe(-32600);
  expect(nullId.status).toBe(400);
});

test("openServer() refuses a foreign address, a second server, a network folder and a damaged database", async () => {
  await using dir = await tempFolder();
  const options = {
    address: "127.0.0.1:0",
    dataFolder: `${dir.path}/data`,
    bootstrap: Secret.from(bootstrap),
    openLink: noRunners,
  };
  const code = (more: object) =>
    openServer({ ...options, ...more }).then(
      () => "open",
      (error) => error.code,
    );

  const outside = await code({ address: "0.0.0.0:0" });
  const network = await code({ dataFolder: `${dir.path}/far`, kindOfFileSystem: () => "network" });
  const server = await start(dir.path);
  const second = await code({});
  await server.close();
  await Bun.write(`${dir.path}/data/server.sqlite`, "this is no database at all, only words".repeat(200));
  const damaged = await code({});

  expect([outside, network, second, damaged]).toEqual([
    "server_address_invalid",
    "server_data_network",
    "server_data_locked",
    "store_unreadable",
  ]);
});
