// Bounds that rows or time decide, each at its limit and one past it; what is forgotten when, and that a commit which
// waits for company does not wait for those who stay away.
import { expect, test } from "bun:test";
import type { RunSnapshot } from "../../src/contract/runs.ts";
import { serverLimits } from "../../src/server/limits.ts";
import { noRunners } from "../../src/server/no-runners.ts";
import { LiveRuns } from "../../src/server/runs.ts";
import { openStore, type Store } from "../../src/server/store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bootstrapToken, localServer } from "./local-server.ts";

const numbers = (count: number) => `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;

test("the server holds 4,096 agents and 65,536 tasks and refuses the next of each, other owners counted too", async () => {
  let store: Store | undefined;
  await using server = await localServer(noRunners, {
    openLink(parts) {
      store = parts.store;
      return noRunners();
    },
  });
  await store!.write((db) => {
    const agents = serverLimits.maxAgents - 1;
    db.run(
      `${numbers(agents)} INSERT INTO agent_identities SELECT 'wc_dagent_' || i, 'other', 'h', 'd', '', '[]', 1 FROM n`,
    );
    db.run(
      `${numbers(serverLimits.maxAgentTasks - 1)} INSERT INTO agent_tasks
        SELECT 'wc_agent_task_' || i, 'other', NULL, 't', 'i', NULL, NULL, NULL, 'ready', 1, 1, NULL FROM n`,
    );
  });
  const agent = (key: string) =>
    server.call(bootstrapToken, "create_agent_identity", { handle: key, display_name: key, idempotency_key: key });
  const task = (key: string) =>
    server.call(bootstrapToken, "create_agent_task", { title: key, instruction: key, idempotency_key: key });

  const agents = [await agent("last"), await agent("past"), await agent("last")];
  const tasks = [await task("last"), await task("past"), await task("last")];

  expect(agents.map((one) => one.output.error_kind ?? one.output.replayed)).toEqual([
    false,
    "agent_limit_reached",
    true,
  ]);
  expect(tasks.map((one) => one.output.error_kind ?? one.output.replayed)).toEqual([
    false,
    "agent_task_capacity",
    true,
  ]);
  expect(tasks[1]?.output.recovery_kind).toBe("user_action");
}, 60_000);

test("a result and a reason are taken to their last byte", async () => {
  await using server = await localServer();
  const call = (tool: string, params: object) => server.call(bootstrapToken, tool, params);
  const { agent_id } = (await call("create_agent_identity", { handle: "h", display_name: "H", idempotency_key: "a" }))
    .output.agent;
  const made = await call("create_agent_task", {
    title: "T",
    instruction: "x",
    assignee_agent_id: agent_id,
    idempotency_key: "t",
  });
  const { task_id } = made.output.task.summary;
  const start = { task_id, assignee_agent_id: agent_id, idempotency_key: "x" };
  const { attempt_ref } = (await call("start_agent_task_attempt", start)).output;
  const end = (result: number, reason: number) =>
    call("complete_agent_task_attempt", {
      attempt_ref,
      outcome: "succeeded",
      terminal_result: "é".repeat(result / 2) + "x".repeat(result % 2),
      terminal_reason: "x".repeat(reason),
      completion_key: "c",
    });
  const { maxTaskResultBytes: result, maxTaskReasonBytes: reason } = serverLimits;

  const answers = [await end(result + 1, 0), await end(0, reason + 1), await end(result, reason)];

  expect(answers.map((one) => one.success ?? "refused")).toEqual(["refused", "refused", true]);
});

test("a lone writer after a crowd is not kept waiting for the crowd, and one tick's writers share a commit", async () => {
  await using dir = await tempFolder();
  const store = openStore(`${dir.path}/server.sqlite`, { wallMs: 1 });
  const write = () =>
    store.write((db) => db.run("UPDATE counters SET value = value + 1 WHERE name = 'external_observations'"));

  await Promise.all(Array.from({ length: 32 }, write));
  const crowd = store.counters();
  await write();
  await write();
  const after = store.counters();
  const total = await store.read((db) =>
    db.query<{ value: number }, []>("SELECT value FROM counters WHERE name = 'external_observations'").get(),
  );
  store.close();

  expect(crowd).toMatchObject({ commits: 1, writes: 32 });
  expect(after).toMatchObject({ commits: 3, writes: 34, failedCommits: 0 });
  expect(total?.value).toBe(34);
});

test("an ended run is remembered for a quarter of an hour and among the last 128, a run that goes on for as long as it does", () => {
  const runs = new LiveRuns((count) => new Uint8Array(count));
  const from = { clientId: "box", instanceId: "one" };
  const snapshot = (id: string, at: number, over: boolean): RunSnapshot => ({
    run_id: id,
    intent_fingerprint: "i",
    authority_fingerprint: "a",
    runtime_project_id: "p",
    provider_id: "x",
    provider_instance_id: "y",
    state: over ? "completed" : "running",
    execution_state: over ? "completed" : "started",
    observation_revision: 3,
    created_at: 1,
    updated_at: at,
    ...(over
      ? { terminal: { stop_reason: "end_turn", error_code: null, message: null, completed_at: at } }
      : { terminal: null }),
  });

  runs.merge(snapshot("live", 1000, false), from);
  for (let at = 0; at < 129; at += 1) runs.merge(snapshot(`ended-${at}`, 1000, true), from);
  const kept = [runs.get("ended-0"), runs.get("ended-1")].map((one) => one !== undefined);
  runs.merge(snapshot("tick", 1000 + 900, false), from);
  const atLimit = runs.get("ended-128") !== undefined;
  runs.merge(snapshot("tock", 1000 + 901, false), from);

  expect(kept).toEqual([false, true]);
  expect(atLimit).toBe(true);
  expect(runs.get("ended-128")).toBeUndefined();
  expect(runs.get("live")?.snapshot.state).toBe("running");
});
