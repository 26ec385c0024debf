// Goals: one owner, forward only, ended for good, and tied to Sessions without any say over them.
import { expect, test } from "bun:test";
import { localServer, offering } from "./local-server.ts";

const project = "agent:host:fixture";
const scopes = ["runtime:read", "session:collaborate", "communication:read", "communication:manage"];

test("a Goal of another user does not exist for reads, changes, ties and hand-offs (O131)", async () => {
  await using server = await localServer(() => offering("ann", { fixture: "/x" }));
  const [ann, bob] = [await server.token("ann", scopes), await server.token("bob", scopes)];
  const wanted = { title: "t", objective: "o", idempotency_key: "same" };
  const anns = (await server.call(ann, "create_goal", wanted)).output;
  const bobs = (await server.call(bob, "create_goal", { ...wanted, title: "bob's" })).output;
  const goal_id = anns.goal.summary.goal_id;
  const session = (await server.call(ann, "work_on_project", { project, instruction: "i" })).output.session_id;

  const refused = [
    await server.call(bob, "get_goal", { goal_id }),
    await server.call(bob, "update_goal", { goal_id, expected_revision: 1, title: "mine", idempotency_key: "u" }),
    await server.call(ann, "associate_goal_session", { goal_id: bobs.goal.summary.goal_id, session_id: session }),
    await server.call(bob, "associate_goal_session", { goal_id: bobs.goal.summary.goal_id, session_id: session }),
  ];
  const listed = (await server.call(bob, "list_goals", {})).output.goals;

  expect(bobs).toMatchObject({ created: true, replayed: false });
  expect(refused.map((answer) => answer.output.error_kind)).toEqual([
    "goal_not_found",
    "goal_not_found",
    "goal_not_found",
    "unknown_session",
  ]);
  expect(listed.map((goal: { title: string }) => goal.title)).toEqual(["bob's"]);
});

test("completed steps stay completed, an ended Goal takes no change, and it leaves the hand-off", async () => {
  await using server = await localServer(() => offering("ann", { fixture: "/x" }));
  const ann = await server.token("ann", scopes);
  const steps = ["one", "two"].map((id) => ({ id, title: id }));
  const made = await server.call(ann, "create_goal", { title: "t", objective: "o", steps, idempotency_key: "c" });
  const goal_id = made.output.goal.summary.goal_id;
  const session_id = (await server.call(ann, "work_on_project", { project, instruction: "i" })).output.session_id;
  await server.call(ann, "associate_goal_session", { goal_id, session_id });
  let key = 0;
  const change = async (tool: string, expected_revision: number, more: object) => {
    key += 1;
    return (await server.call(ann, tool, { goal_id, expected_revision, idempotency_key: `${key}`, ...more })).output;
  };
  const context = async () =>
    (await server.call(ann, "get_session_handoff_state", { project, session_id })).output.goal_context;

  const one = await change("checkpoint_goal", 2, { completed_step_ids: ["one"], current_step_id: "two" });
  const current = await context();
  const back = await change("checkpoint_goal", 3, { current_step_id: "one" });
  const unknown = await change("checkpoint_goal", 3, { completed_step_ids: ["three"] });
  const all = await change("checkpoint_goal", 3, { completed_step_ids: ["two"], progress_summary: "done" });
  const ended = await change("update_goal", 4, { lifecycle: "completed", terminal_reason: "all done" });
  const late = await change("update_goal", 5, { title: "again" });
  const after = await context();

  expect(one.goal.plan.steps.map((step: { status: string }) => step.status)).toEqual(["completed", "in_progress"]);
  expect(current.goal.plan.current_step_id).toBe("two");
  expect([back, unknown, late].map((output) => output.error_kind)).toEqual([
    "goal_step_completed",
    "goal_step_not_found",
    "goal_terminal",
  ]);
  expect(all.goal.plan.progress_summary).toBe("done");
  expect(ended.goal.summary).toMatchObject({ lifecycle: "completed", revision: 5 });
  expect(after).toBeUndefined();
});
