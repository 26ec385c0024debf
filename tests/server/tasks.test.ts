// Tasks and attempts: leases, signs of life, replacement, reassignment, results and pages, on a clock moved by hand.
import { expect, test } from "bun:test";
import { handClock } from "../support/hand-clock.ts";
import { type LocalServer, localServer } from "./local-server.ts";

const scopes = ["communication:read", "communication:manage"] as const;
// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
type Json = Record<string, any>;

/** A user with two agents and one task for the first of them. */
async function desk(server: LocalServer, name = "ann") {
  const token = await server.token(name, scopes);
  const call = (tool: string, params: Json) => server.call(token, tool, params);
  const agentOf = async (handle: string) =>
    (await call("create_agent_identity", { handle, display_name: handle, idempotency_key: handle })).output.agent
      .agent_id as string;
  const [one, two] = [await agentOf("one"), await agentOf("two")];
  const made = await call("create_agent_task", {
    title: "T",
    instruction: "Do it",
    assignee_agent_id: one,
    idempotency_key: "t",
  });
  const task_id = made.output.task.summary.task_id as string;
  const start = (key: string, assignee = one) =>
    call("start_agent_task_attempt", { task_id, assignee_agent_id: assignee, idempotency_key: key });
  return { call, one, two, task_id, start };
}

const kindOf = (answer: Json) => answer.output?.error_kind ?? answer.success;

test("an attempt's lease lives on signs of life, ends a minute after the last, and is then stale for every caller", async () => {
  const clock = handClock();
  await using server = await localServer(undefined, { clock });
  const { call, start, task_id } = await desk(server);

  const first = (await start("a")).output;
  const selector = { attempt_ref: first.attempt_ref };
  clock.advance(59_999);
  const alive = await call("heartbeat_agent_task_attempt", selector);
  clock.advance(59_999);
  const blocked = await start("b");
  clock.advance(1);
  const late = await call("heartbeat_agent_task_attempt", selector);
  const ended = await call("complete_agent_task_attempt", { ...selector, outcome: "succeeded", completion_key: "c" });
  const seen = (await call("read_agent_task", { task_id })).output.task.summary;
  const second = (await start("b")).output;

  expect(alive.output.attempt).toMatchObject({ attempt_id: first.attempt.attempt_id, lease_active: true });
  expect(alive.output.attempt.lease_expires_at_unix_ms).toBe(first.attempt.lease_expires_at_unix_ms + 59_999);
  expect(alive.output).not.toHaveProperty("attempt_fence");
  expect(kindOf(blocked)).toBe("agent_task_attempt_active");
  expect([kindOf(late), late.output.recovery_kind]).toEqual(["agent_task_attempt_stale", "reconcile"]);
  expect(kindOf(ended)).toBe("agent_task_attempt_stale");
  expect(seen).toMatchObject({ state: "ready", latest_attempt: { state: "expired", lease_active: false } });
  expect(seen).not.toHaveProperty("attempt_ref");
  expect(second.attempt).toMatchObject({ attempt_number: 2, state: "active" });
  expect(second.attempt_ref).not.toBe(first.attempt_ref);
});

test("an attempt is named by its reference or its whole tuple, never by both or by half, and the fence decides", async () => {
  await using server = await localServer(undefined, { clock: handClock() });
  const { call, start, one, two, task_id } = await desk(server);
  const { attempt, attempt_fence, attempt_ref } = (await start("a")).output;
  const tuple = {
    task_id,
    attempt_id: attempt.attempt_id,
    assignee_agent_id: one,
    attempt_fence,
    attempt_controller_generation: 1,
  };
  const beat = async (by: Json) => kindOf(await call("heartbeat_agent_task_attempt", by));

  expect(await beat({ attempt_ref })).toBe(true);
  expect(await beat(tuple)).toBe(true);
  expect(await beat({ ...tuple, attempt_ref })).toBe("ambiguous_agent_task_attempt_selector");
  expect(await beat({ task_id })).toBe("incomplete_agent_task_attempt_selector");
  expect(await beat({ attempt_ref: "~ta0" })).toBe("invalid_agent_task_attempt_ref");
  expect(await beat({ attempt_ref: "~ta99" })).toBe("unknown_agent_task_attempt_ref");
  expect(await beat({ ...tuple, attempt_fence: "wc_agent_task_fence_x" })).toBe("agent_task_attempt_stale");
  expect(await beat({ ...tuple, attempt_controller_generation: 2 })).toBe("agent_task_attempt_stale");
  expect(await beat({ ...tuple, assignee_agent_id: two })).toBe("agent_task_assignee_mismatch");
});

test("a result ends attempt and task once, reads again under its key, and nothing moves a finished task", async () => {
  await using server = await localServer(undefined, { clock: handClock() });
  const { call, start, two, task_id } = await desk(server);
  const { attempt_ref } = (await start("a")).output;
  const wanted = { attempt_ref, outcome: "failed", terminal_result: "r", terminal_reason: "why", completion_key: "c" };

  const done = await call("complete_agent_task_attempt", wanted);
  const again = await call("complete_agent_task_attempt", wanted);
  const other = await call("complete_agent_task_attempt", { ...wanted, outcome: "succeeded" });
  const second = await call("complete_agent_task_attempt", { ...wanted, completion_key: "d" });
  const assigned = await call("assign_agent_task", { task_id, assignee_agent_id: two });
  const restarted = await start("b");
  const long = await call("complete_agent_task_attempt", { ...wanted, terminal_result: "x".repeat(8193) });

  expect(done.output).toMatchObject({ state_changed: true, replayed: false, task: { state: "failed" } });
  expect(done.output.attempt).toMatchObject({ state: "failed", terminal_result: "r", terminal_reason: "why" });
  expect(again.output).toMatchObject({ state_changed: false, replayed: true, task: { state: "failed" } });
  expect(kindOf(other)).toBe("communication_idempotency_conflict");
  expect([kindOf(second), kindOf(assigned), kindOf(restarted)]).toEqual(Array(3).fill("agent_task_terminal"));
  expect(long.error).toStartWith("Invalid arguments");
});

test("a task goes to another agent only when no live attempt stands in the way", async () => {
  const clock = handClock();
  await using server = await localServer(undefined, { clock });
  const { call, start, one, two, task_id } = await desk(server);
  const assign = (assignee_agent_id: string) => call("assign_agent_task", { task_id, assignee_agent_id });

  const same = await assign(one);
  await start("a");
  const busy = await assign(two);
  const kept = await assign(one);
  clock.advance(60_000);
  const moved = await assign(two);
  const old = await start("b", one);
  const fresh = await start("b", two);
  const nobody = await assign("wc_dagent_nobody");
  const unknown = await call("assign_agent_task", { task_id: "wc_agent_task_x", assignee_agent_id: one });

  expect([same.output.state_changed, kept.output.state_changed, moved.output.state_changed]).toEqual([
    false,
    false,
    true,
  ]);
  expect(kindOf(busy)).toBe("agent_task_attempt_active");
  expect(moved.output.task.summary).toMatchObject({ assignee_agent_id: two, state: "ready" });
  expect(kindOf(old)).toBe("agent_task_assignee_mismatch");
  expect(fresh.output.attempt).toMatchObject({ attempt_number: 2, assignee_agent_id: two });
  expect([kindOf(nobody), kindOf(unknown)]).toEqual(["agent_not_found", "agent_task_not_found"]);
});

test("tasks and agents are listed in pages, latest change first, and only to their owner", async () => {
  const clock = handClock();
  await using server = await localServer(undefined, { clock });
  const { call, one, two, task_id } = await desk(server);
  for (let at = 0; at < 4; at += 1) {
    clock.advance(1);
    const assignee_agent_id = at % 2 === 0 ? one : two;
    await call("create_agent_task", {
      title: `n${at}`,
      instruction: "x",
      assignee_agent_id,
      idempotency_key: `n${at}`,
    });
  }
  const bob = await desk(server, "bob");
  const list = async (params: Json, caller = call) => (await caller("list_agent_tasks", params)).output;

  const first = await list({ limit: 3 });
  const rest = await list({ limit: 3, offset: 3 });
  const beyond = await list({ offset: 9 });
  const twos = await list({ assignee_agent_id: two });
  const zero = await call("list_agent_tasks", { limit: 0 });
  const agents = (await call("list_agent_identities", { limit: 1 })).output;
  const foreign = await bob.call("read_agent_task", { task_id });

  expect(first.tasks.map((task: Json) => task.title)).toEqual(["n3", "n2", "n1"]);
  expect(first).toMatchObject({ total_count: 5, offset: 0, next_offset: 3, truncated: true });
  expect(rest).toMatchObject({ total_count: 5, next_offset: null, truncated: false });
  expect(rest.tasks.map((task: Json) => task.title)).toEqual(["n0", "T"]);
  expect([beyond.tasks, beyond.next_offset]).toEqual([[], null]);
  expect(twos.tasks.map((task: Json) => task.title)).toEqual(["n3", "n1"]);
  expect(kindOf(zero)).toBe("invalid_agent_task_list_limit");
  expect(agents).toMatchObject({ total_count: 2, next_offset: 1, truncated: true });
  expect((await list({}, bob.call)).total_count).toBe(1);
  expect(kindOf(foreign)).toBe("agent_task_not_found");
});
