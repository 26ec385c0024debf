// What a Session leaves behind for the next reader: the brief, the Goal beside it, the advice, and the inventories.
import { expect, test } from "bun:test";
import { type LocalServer, localServer, offering } from "./local-server.ts";

const project = "agent:host:fixture";
const scopes = ["runtime:read", "project:read", "session:collaborate", "communication:read", "communication:manage"];
const world = () => localServer(() => offering("ann", { fixture: "/x/fixture", other: "/x/other" }));

async function session(server: LocalServer, token: string, instruction = "mend the parser"): Promise<string> {
  return (await server.call(token, "work_on_project", { project, instruction })).output.session_id;
}

async function goal(server: LocalServer, token: string, more: object = {}): Promise<string> {
  const wanted = { title: "goal", objective: "objective", idempotency_key: crypto.randomUUID(), ...more };
  return (await server.call(token, "create_goal", wanted)).output.goal.summary.goal_id;
}

test("the brief keeps instructions, decisions and progress over a restart, holds no secret and stays below 8 KiB", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann, `"\\"`.repeat(1300));
  const say = (kind: string, message: string) =>
    server.call(ann, "post_session_message", { session_id: id, kind, message });
  await say("decision", "keep the old grammar");
  for (let count = 0; count < 5; count += 1) await say("progress", `${"😀".repeat(299)} ${count}`);
  await say("progress", "token=abcdefgh12345678");
  await say("risk", "the cache may be stale");
  await server.call(ann, "work_on_project", { project, session_id: id, instruction: "go on 😀".repeat(400) });
  const before = await server.call(ann, "read_session_handoff", { session_id: id });
  await server.restart();

  const after = await server.call(ann, "read_session_handoff", { session_id: id });
  const state = await server.call(ann, "get_session_handoff_state", { project, session_id: id });

  const brief = after.output.handoff_brief;
  const text = JSON.stringify(brief);
  expect(after).toEqual(before);
  expect(Buffer.byteLength(text)).toBeLessThan(8192);
  expect(text).toContain("keep the old grammar");
  expect(text).not.toContain("abcdefgh12345678");
  expect(brief.task.latest_instruction.excerpt).toStartWith("go on");
  expect(brief).toMatchObject({ deterministic: true, llm_summary: false, progress: { state: "blocked" } });
  expect(brief.attention.open_risks).toBe(1);
  expect(brief.workspace.status).toBe("unavailable");
  expect(Object.keys(state.output)).toEqual(["project", "session_id", "handoff_brief"]);
});

test("external_observations shows the last five reports, the unknown ones among all, and leaves no event (O057 O068 O069 O074 O075)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann);
  const goalId = await goal(server, ann, { steps: [{ id: "one", title: "One" }] });
  await server.call(ann, "associate_goal_session", { goal_id: goalId, session_id: id });
  const read = async () => (await server.call(ann, "read_session_handoff", { session_id: id })).output;
  const first = await read();
  const sections = [first.handoff_brief.external_observations];
  for (let count = 1; count <= 6; count += 1) {
    const ids = { adapter_id: "a".repeat(64), event_id: `${count}`.repeat(64) };
    const exit_code = count === 1 ? null : count === 2 ? -1 : 0;
    await server.call(ann, "record_external_observation", {
      project,
      session_id: id,
      ...ids,
      observed_tool: "Bash",
      exit_code,
    });
    sections.push((await read()).handoff_brief.external_observations);
  }

  const last = await read();
  const all = (await server.call(ann, "list_external_observations", { project, session_id: id })).output.observations;

  expect([sections[0], sections[5], sections[6]]).toMatchObject([
    { total: 0, returned: 0, truncated: false, unknown_count: 0, observations: [] },
    { total: 5, returned: 5, truncated: false, unknown_count: 1 },
    { total: 6, returned: 5, truncated: true, unknown_count: 1, observations: all.slice(-5) },
  ]);
  expect(sections.every((section) => section.coverage.complete === false)).toBe(true);
  expect(all.map((row: { status: string }) => row.status).sort()).toEqual([
    "reported_failure",
    "reported_success",
    "reported_success",
    "reported_success",
    "reported_success",
    "unknown",
  ]);
  const { external_observations: _a, ...briefBefore } = first.handoff_brief;
  const { external_observations: _b, ...briefAfter } = last.handoff_brief;
  expect({ ...last, handoff_brief: briefAfter }).toEqual({ ...first, handoff_brief: briefBefore });
});

test("goal_context is absent without a Goal, whole with one, a choice with several, and moves none (O131 O132 O133 O134 O135)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann);
  const state = async () => (await server.call(ann, "get_session_handoff_state", { project, session_id: id })).output;
  const tie = (goal_id: string) => server.call(ann, "associate_goal_session", { goal_id, session_id: id });
  const steps = Array.from({ length: 40 }, (_, index) => ({ id: `s${index}`, title: "é".repeat(200) }));
  const large = { objective: "ü".repeat(4096), steps, completion_conditions: Array(9).fill("c".repeat(300)) };

  const none = await state();
  const one = await goal(server, ann, large);
  await tie(one);
  const single = await state();
  const again = await state();
  for (let count = 0; count < 8; count += 1) await tie(await goal(server, ann));
  const many = await state();
  const kept = (await server.call(ann, "get_goal", { goal_id: one })).output.goal.summary;

  expect([none.goal_context, none.acceptance]).toEqual([undefined, undefined]);
  expect(single).toEqual(again);
  expect(single.goal_context).toMatchObject({
    status: "available",
    goal: {
      goal_id: one,
      revision: 2,
      objective: { truncated: true },
      plan: {
        completion_conditions: { total: 9, returned: 8, truncated: true, content_truncated: true },
        steps: { total: 40, returned: 32, truncated: true },
        current_step_id: null,
        checkpoint: { summary: { excerpt: null, truncated: false }, at_unix_ms: null },
      },
    },
  });
  expect(Buffer.byteLength(single.goal_context.goal.objective.excerpt)).toBeLessThanOrEqual(1024);
  expect(many.goal_context).toMatchObject({ status: "selection_required", goal: null, truncated: true });
  expect(many.goal_context.candidates).toHaveLength(8);
  expect(many.acceptance).toBeUndefined();
  expect(kept.revision).toBe(2);
});

test("acceptance is advice that follows the one Goal's steps and the open risks", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const id = await session(server, ann);
  const goal_id = await goal(server, ann, { steps: [{ id: "one", title: "One" }] });
  await server.call(ann, "associate_goal_session", { goal_id, session_id: id });
  const advice = async () =>
    (await server.call(ann, "get_session_handoff_state", { project, session_id: id })).output.acceptance;

  const early = await advice();
  const step = { goal_id, expected_revision: 2, completed_step_ids: ["one"], idempotency_key: "c" };
  await server.call(ann, "checkpoint_goal", step);
  const ready = await advice();
  await server.call(ann, "post_session_message", { session_id: id, kind: "risk", message: "not sure" });
  const blocked = await advice();

  expect([early.state, ready.state, blocked.state]).toEqual(["not_ready", "ready_for_review", "blocked"]);
  expect(ready).toMatchObject({ version: 1, advisory: true, truncated: false });
  expect(ready.reason_codes).toContain("validation_unavailable");
});

test("a hand-off of another user, another project or a short selector is refused, a closed Session is read (O044 O112)", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const bob = await server.token("bob", scopes);
  const id = await session(server, ann);
  const listed = (await server.call(ann, "list_sessions", { project })).output.sessions[0];
  const state = (token: string, params: object) => server.call(token, "get_session_handoff_state", params);

  const foreign = await state(bob, { project, session_id: id });
  const elsewhere = await state(ann, { project: "agent:host:other", session_id: id });
  const short = await state(ann, { project, session_id: listed.session_ref });
  const warned = await server.call(ann, "read_session_handoff", { session_id: listed.session_ref, project: "p" });
  await server.call(ann, "close_session", { session_id: id });
  const closed = await state(ann, { project, session_id: id });
  const throughMcp = await server.post(
    "/mcp",
    {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "call_runtime_tool", arguments: { tool: "get_session_handoff_state" } },
    },
    { token: ann },
  );

  expect([foreign, elsewhere, short].map((answer) => answer.output.error_kind)).toEqual([
    "unknown_session",
    "session_project_mismatch",
    "unknown_session",
  ]);
  expect(warned.output.warnings[0].warning_kind).toBe("session_project_mismatch");
  expect(closed.output.handoff_brief.progress.state).toBe("closed");
  expect(throughMcp.body.error.code).toBe(-32602);
});

test("the console lists the caller's projects by path and Sessions, says what is left out, and needs project:read", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const bob = await server.token("bob", scopes);
  const reader = await server.token("eve", ["runtime:read"]);
  const ids = [await session(server, ann), await session(server, ann)];
  const ask = async (token: string, route: string, body: unknown) =>
    await server.post(`/api/runtime-console/${route}`, body, { token });

  const found = await ask(ann, "projects", { query: "/x/fixture", limit: 100 });
  const cut = await ask(ann, "projects", { limit: 1 });
  const none = await ask(bob, "projects", { query: "/x/fixture" });
  const sessions = await ask(ann, "workflow-sessions", { project, limit: 100 });
  const fewer = await ask(ann, "workflow-sessions", { project, limit: 1 });
  const foreign = await ask(bob, "workflow-sessions", { project });
  const denied = await ask(reader, "projects", {});
  const more = await ask(ann, "workflow-sessions", { project, limit: 101 });

  expect(found.body).toMatchObject({ projects: [{ id: project, path: "/x/fixture" }], truncated: false });
  expect(cut.body.truncated).toBe(true);
  expect(none.body).toMatchObject({ projects: [], truncated: false });
  expect(sessions.body.sessions.map((row: { session_id: string }) => row.session_id).sort()).toEqual(ids.sort());
  expect(sessions.body.truncated).toBe(false);
  expect(fewer.body).toMatchObject({ total: 2, truncated: true });
  expect(foreign.body.sessions).toEqual([]);
  expect([denied.status, more.status]).toEqual([403, 400]);
});
