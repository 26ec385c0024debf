// The behaviour checks of the contract's §10 that need no Runner at work, against processes of their own: starting one may
// take a minute on a loaded machine.
import { expect, test } from "bun:test";
import { ControlPair } from "../support/control-pair.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { type Json, post, serve } from "./served.ts";

const tasks = ["communication:read", "communication:manage"];

async function served(use: (parts: { call: Caller; token: Maker; url: string }) => Promise<void>): Promise<void> {
  await using dir = await tempFolder();
  const { group, url } = await serve(dir.path);
  try {
    const call: Caller = (token, tool, params) => post(`${url}/api/tools/call`, { tool, params }, token);
    const token: Maker = async (username, scopes) => {
      await post(`${url}/api/users/create`, { username });
      return (await post(`${url}/api/tokens/create`, { username, scopes })).token;
    };
    await use({ call, token, url });
  } finally {
    await group.stop({ firstSignal: "SIGINT", termMs: 10_000 });
  }
}
type Caller = (token: string, tool: string, params: Json) => Promise<Json>;
type Maker = (username: string, scopes: readonly string[]) => Promise<string>;

test(
  "§10.1 a repeated making of agent, task and attempt reads the first one's ids, by another token of the user too",
  () =>
    served(async ({ call, token }) => {
      const [first, second] = [await token("ann", tasks), await token("ann", tasks)];
      const agent = { handle: "h", display_name: "H", idempotency_key: "a" };
      const made = await call(first, "create_agent_identity", agent);
      const madeAgain = await call(second, "create_agent_identity", agent);
      const assignee_agent_id = made.output.agent.agent_id;
      const task = { title: "T", instruction: "x", assignee_agent_id, idempotency_key: "t" };
      const [one, two] = [await call(first, "create_agent_task", task), await call(second, "create_agent_task", task)];
      const attempt = { task_id: one.output.task.summary.task_id, assignee_agent_id, idempotency_key: "x" };
      const started = await call(first, "start_agent_task_attempt", attempt);
      const startedAgain = await call(second, "start_agent_task_attempt", attempt);

      expect([made.output.created, made.output.replayed, made.output.state_changed]).toEqual([true, false, true]);
      expect(madeAgain.output).toMatchObject({ created: false, replayed: true, state_changed: false });
      expect(madeAgain.output.agent).toEqual(made.output.agent);
      expect(two.output).toMatchObject({ created: false, replayed: true, task: one.output.task });
      expect(startedAgain.output).toMatchObject({ replayed: true, state_changed: false });
      for (const key of ["attempt", "attempt_fence", "attempt_ref"])
        expect(startedAgain.output[key]).toEqual(started.output[key]);
    }),
  180_000,
);

test(
  "§10.2 another payload under the same key is a conflict and makes nothing",
  () =>
    served(async ({ call, token }) => {
      const ann = await token("ann", tasks);
      const agent = { handle: "h", display_name: "H", idempotency_key: "a" };
      const { agent_id } = (await call(ann, "create_agent_identity", agent)).output.agent;
      const task = { title: "T", instruction: "x", assignee_agent_id: agent_id, idempotency_key: "t" };
      const { task_id } = (await call(ann, "create_agent_task", task)).output.task.summary;
      const other = (await call(ann, "create_agent_task", { ...task, idempotency_key: "u" })).output.task.summary
        .task_id;
      const attempt = { task_id, assignee_agent_id: agent_id, idempotency_key: "x" };
      await call(ann, "start_agent_task_attempt", attempt);

      const answers = [
        await call(ann, "create_agent_identity", { ...agent, handle: "other" }),
        await call(ann, "create_agent_task", { ...task, title: "Other" }),
        await call(ann, "start_agent_task_attempt", { ...attempt, task_id: other }),
      ];

      for (const answer of answers) expect(answer.output.error_kind).toBe("communication_idempotency_conflict");
      expect((await call(ann, "list_agent_identities", {})).output.total_count).toBe(1);
      expect((await call(ann, "list_agent_tasks", {})).output.total_count).toBe(2);
      const untouched = (await call(ann, "read_agent_task", { task_id: other })).output.task.summary;
      expect(untouched.latest_attempt).toBeNull();
    }),
  180_000,
);

test(
  "§10.16 another user sees no agent, task or attempt, and a missing scope is named",
  () =>
    served(async ({ call, token }) => {
      const [ann, bob, poor] = [await token("ann", tasks), await token("bob", tasks), await token("bob", [])];
      const agent = { handle: "h", display_name: "H", idempotency_key: "a" };
      const { agent_id } = (await call(ann, "create_agent_identity", agent)).output.agent;
      const task = { title: "T", instruction: "x", assignee_agent_id: agent_id, idempotency_key: "t" };
      const { task_id } = (await call(ann, "create_agent_task", task)).output.task.summary;
      const attempt = { task_id, assignee_agent_id: agent_id, idempotency_key: "x" };
      const { attempt_ref, attempt: row } = (await call(ann, "start_agent_task_attempt", attempt)).output;
      const kind = async (tool: string, params: Json) => (await call(bob, tool, params)).output.error_kind;

      expect((await call(bob, "list_agent_identities", {})).output.agents).toEqual([]);
      expect((await call(bob, "list_agent_tasks", {})).output.tasks).toEqual([]);
      expect((await call(bob, "list_goals", {})).error).toBeUndefined();
      expect(await kind("read_agent_task", { task_id })).toBe("agent_task_not_found");
      expect(await kind("start_agent_task_attempt", { ...attempt, idempotency_key: "y" })).toBe("agent_task_not_found");
      expect(await kind("assign_agent_task", { task_id, assignee_agent_id: agent_id })).toBe("agent_task_not_found");
      expect(await kind("heartbeat_agent_task_attempt", { attempt_ref })).toBe("unknown_agent_task_attempt_ref");
      expect((await call(poor, "list_agent_tasks", {})).error).toBe("missing required scope: communication:read");
      expect((await call(bob, "reconcile_agent_task_coding_run", { task_id, attempt_id: row.attempt_id })).error).toBe(
        "missing required scope: coding_agent:run",
      );
    }),
  180_000,
);

test("§10.15 a report replays with its first time, conflicts, fills a Session at 256, and needs the open Session's own project", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "plain" });
  await pair.start();
  const project = "agent:box:fixture";
  const opened = await pair.call("work_on_project", { project, instruction: "x" });
  const session_id = opened.output.session_id as string;
  const report = (at: number, more: Json = {}) =>
    pair.call("record_external_observation", {
      project,
      session_id,
      adapter_id: "a".repeat(64),
      event_id: at.toString(16).padStart(64, "0"),
      observed_tool: "Bash",
      exit_code: null,
      ...more,
    });

  const first = await report(0);
  const rest = await Promise.all(Array.from({ length: 255 }, (_, at) => report(at + 1)));
  const [again, other, full] = [await report(0), await report(0, { exit_code: 1 }), await report(256)];
  const elsewhere = await report(300, { project: "agent:box:other" });
  await pair.call("close_session", { session_id });
  const closed = await report(1);

  expect(first.output.inserted && rest.every((answer) => answer.output.inserted)).toBe(true);
  expect(again.output).toMatchObject({ inserted: false, observation: first.output.observation });
  expect(other.output.error_kind).toBe("external_observation_conflict");
  expect(full.output.error_kind).toBe("external_observation_capacity");
  expect(elsewhere.output.error_kind).toBe("session_project_mismatch");
  expect(closed.output.error_kind).toBe("session_closed");
}, 180_000);
