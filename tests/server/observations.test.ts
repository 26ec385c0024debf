// Reports of adapters: closed input, exact ids, rights, capacity, and where a model may and may not reach them.
import { expect, test } from "bun:test";
import { type LocalServer, localServer, offering } from "./local-server.ts";

const project = "agent:host:fixture";
const scopes = ["runtime:read", "project:read", "session:collaborate"];
const world = () => localServer(() => offering("ann", { fixture: "/x/fixture" }));

async function session(server: LocalServer, token: string): Promise<string> {
  return (await server.call(token, "work_on_project", { project, instruction: "work" })).output.session_id;
}

const report = (session_id: string, more: object = {}) => ({
  project,
  session_id,
  adapter_id: "a".repeat(64),
  event_id: "b".repeat(64),
  observed_tool: "Bash",
  ...more,
});

test("record_external_observation takes its six fields and nothing of what the tool did (O043 O048 O053)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann);
  const whole: Record<string, unknown> = report(id);
  const record = (params: unknown) =>
    server.post("/api/tools/call", { tool: "record_external_observation", params }, { token: ann });

  const statuses: number[] = [];
  for (const key of ["command", "arguments", "output", "cwd", "path", "transcript_path", "recorded_at", "provenance"])
    statuses.push((await record({ ...whole, [key]: "x" })).status);
  for (const key of Object.keys(whole)) {
    const { [key]: _, ...rest } = whole;
    statuses.push((await record(rest)).status);
  }
  const listed = await server.call(ann, "list_external_observations", { project, session_id: id });

  expect(new Set(statuses)).toEqual(new Set([400]));
  expect(listed.output.observations).toEqual([]);
});

test("ids, tool names and exit codes are legal to their limit and refused one past it (O049 O052 O055)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann);
  let count = 0;
  const record = async (more: object) => {
    count += 1;
    const event_id = count.toString(16).padStart(64, "0");
    const answer = await server.call(ann, "record_external_observation", report(id, { event_id, ...more }));
    return answer.success ? answer.output.observation.status : answer.output.error_kind;
  };
  const bad = "invalid_external_observation";

  expect(await record({ adapter_id: "A".repeat(64) })).toBe(bad);
  expect(await record({ adapter_id: "a".repeat(63) })).toBe(bad);
  expect(await record({ event_id: "a".repeat(65) })).toBe(bad);
  expect(await record({ observed_tool: `mcp__x.y:z-${"t".repeat(53)}` })).toBe("unknown");
  expect(await record({ observed_tool: "t".repeat(65) })).toBe(bad);
  expect(await record({ observed_tool: "tööl" })).toBe(bad);
  expect(await record({ observed_tool: "" })).toBe(bad);
  expect(await record({ exit_code: 0 })).toBe("reported_success");
  expect(await record({ exit_code: 1 })).toBe("reported_failure");
  expect(await record({ exit_code: -2_147_483_648 })).toBe("reported_failure");
  expect(await record({ exit_code: 2_147_483_647 })).toBe("reported_failure");
  expect(await record({ exit_code: 2_147_483_648 })).toBe(bad);
  expect(await record({ exit_code: 0.5 })).toBe(bad);
});

test("a report needs its scope, the owner's token and the Session's own project; the key counts inside one Session and adapter (O044 O045 O050 O061)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const reader = (await server.post("/api/tokens/create", { username: "ann", scopes: ["runtime:read"] })).body.token;
  const bob = await server.token("bob", scopes);
  const [one, two] = [await session(server, ann), await session(server, ann)];
  const record = (token: string, params: unknown) =>
    server.post("/api/tools/call", { tool: "record_external_observation", params }, { token });

  const denied = await record(reader, report(one));
  const foreign = await record(bob, report(one));
  const unknown = await record(ann, report("wc_sess_none"));
  const elsewhere = await record(ann, report(one, { project: "agent:host:other" }));
  const inserted = [
    await record(ann, report(one)),
    await record(ann, report(two)),
    await record(ann, report(one, { adapter_id: "c".repeat(64) })),
  ];

  expect([denied.status, denied.body.error]).toEqual([403, "missing required scope: session:collaborate"]);
  expect([foreign, unknown, elsewhere].map((answer) => answer.body.output.error_kind)).toEqual([
    "unknown_session",
    "unknown_session",
    "session_project_mismatch",
  ]);
  expect(inserted.map((answer) => answer.body.output.inserted)).toEqual([true, true, true]);
});

test("a Session holds 256 reports, refuses the next, still answers a replay, and keeps all over a restart (O063 O064 O065 O072)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann);
  const numbered = (count: number) => report(id, { event_id: count.toString(16).padStart(64, "0") });
  const record = (count: number) => server.call(ann, "record_external_observation", numbered(count));
  const list = async () =>
    (await server.call(ann, "list_external_observations", { project, session_id: id })).output.observations;

  const within = await Promise.all(Array.from({ length: 256 }, (_, count) => record(count)));
  const past = await record(256);
  const replay = await record(0);
  const kept = await list();
  await server.restart();
  const after = await list();

  expect(within.every((answer) => answer.output.inserted === true)).toBe(true);
  expect(past.output).toMatchObject({
    error_kind: "external_observation_capacity",
    state_changed: false,
    recovery_kind: "user_action",
  });
  expect(replay.output).toEqual({ ...within[0]!.output, inserted: false });
  expect(kept).toHaveLength(256);
  expect(after).toEqual(kept);
});

test("models reach the list through the gateway with the same rows as REST, and never the write (O047 O051 O071 O073)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann);
  const written = await server.call(ann, "record_external_observation", report(id));
  const mcp = async (method: string, params: unknown) =>
    (await server.post("/mcp", { jsonrpc: "2.0", id: 1, method, params }, { token: ann })).body;
  const params = { project, session_id: id };

  const rest = await server.call(ann, "list_external_observations", params);
  const gateway = await mcp("tools/call", {
    name: "call_runtime_tool",
    arguments: { tool: "list_external_observations", arguments: params },
  });
  const direct = await mcp("tools/call", { name: "record_external_observation", arguments: report(id) });
  const hidden = await mcp("tools/call", {
    name: "call_runtime_tool",
    arguments: { tool: "record_external_observation", arguments: report(id) },
  });
  const names = (await mcp("tools/list", {})).result.tools.map((tool: { name: string }) => tool.name);
  const known = (await server.post("/api/tools/list", {}, { token: ann })).body.tools;

  expect(gateway.result.structuredContent).toEqual({ ...rest, error: null });
  expect([written.output.provenance, rest.output.provenance]).toEqual(["external_report", "external_report"]);
  expect(rest.output.coverage.complete).toBe(false);
  expect([direct.error.code, hidden.error.code]).toEqual([-32602, -32602]);
  expect(names).not.toContain("record_external_observation");
  expect(known.map((tool: { name: string }) => tool.name)).toContain("list_external_observations");
  expect(known.map((tool: { name: string }) => tool.name)).not.toContain("record_external_observation");
});
