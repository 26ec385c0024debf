import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { descendantsOf, isAlive } from "../../src/base/census.ts";
import { ControlPair, patScopes } from "../support/control-pair.ts";
import { tempFolder } from "../support/temp-folder.ts";

const over = (output: Record<string, unknown>) => output.terminal !== null;

test.concurrent("§10.3 §10.4 two starts at once and one more are one run and one prompt; it ends succeeded, files read byte-true", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, {
    play: "plain",
    forced: { model: "model-b", reasoning_effort: "high" },
  });
  await pair.start();
  const attempt = await pair.attempt();

  const [first, second] = await Promise.all([pair.startRun(attempt.attempt_ref), pair.startRun(attempt.attempt_ref)]);
  const runId = first.output.run_id as string;
  const third = await pair.startRun(attempt.attempt_ref);
  const changed = await pair.startRun(attempt.attempt_ref, { timeout_secs: 299 });
  const end = await pair.observeUntil(runId, over);
  const reconciled = await pair.reconcile(attempt);
  const again = await pair.reconcile(attempt);
  const read = await pair.call("read_files", { project: "agent:box:fixture", items: [{ path: "a.txt" }] });

  expect([second.output.run_id, third.output.run_id]).toEqual([runId, runId]);
  expect(changed.output).toMatchObject({ error_kind: "agent_task_coding_run_binding_conflict", run_id: runId });
  expect([reconciled.output.state_changed, again.output.state_changed]).toEqual([true, false]);
  expect(pair.prompts()).toBe(1);
  expect(end).toMatchObject({ state: "completed", execution_state: "completed", history_lost: false });
  expect(end.events.map((event: { kind: string }) => event.kind)).toEqual(["agent_message", "file_change", "terminal"]);
  expect(reconciled.output).toMatchObject({ task_state: "succeeded", attempt_state: "succeeded", run_id: runId });
  expect(read.output.items[0].output.text).toBe("one\ntwo\n");
}, 120_000);

test.concurrent("§10.5 §10.6 §10.14 a server killed in a run leaves runner and agent alone: same ids, old token stale, then cancelled by its answer", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  const before = await pair.observeUntil(runId, (output) => output.execution_state === "started");
  const agents = descendantsOf([pair.runner!.pid]);

  await pair.server!.stop({ firstSignal: "SIGKILL" });
  await pair.startServer();
  await pair.projectIsThere();
  const reconciled = await pair.reconcile(attempt);
  const stale = await pair.call("observe_coding_agent", {
    run_id: runId,
    after_observation_token: before.observation_token,
  });
  const fresh = await pair.call("observe_coding_agent", { run_id: runId });
  const kept = agents.filter(isAlive);
  await pair.call("cancel_coding_agent", { run_id: runId });
  const end = await pair.observeUntil(runId, over);

  expect(pair.runner!.running()).toBe(true);
  expect(kept).toEqual(agents);
  expect(agents.length).toBeGreaterThan(0);
  const { task_id, attempt_id } = attempt;
  expect(reconciled.output).toMatchObject({ task_id, attempt_id, run_id: runId });
  expect(stale.output.history_lost).toBe(true);
  expect(stale.output.events[0].sequence).toBe(stale.output.first_retained_sequence);
  expect(fresh.output.history_lost).toBe(false);
  expect(end).toMatchObject({
    state: "cancelled",
    execution_state: "completed",
    terminal: { stop_reason: "cancelled" },
  });
  expect(pair.prompts()).toBe(1);
}, 120_000);

test.concurrent("§10.12 a runner killed after the barrier: the run is lost, never prompted again, and its task stays blocked", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, (output) => output.execution_state === "started");

  await pair.runner!.stop({ firstSignal: "SIGKILL" });
  await pair.startRunner();
  const end = await pair.observeUntil(runId, over);
  const reconciled = await pair.reconcile(attempt);
  const replayed = await pair.startRun(attempt.attempt_ref);
  const { task_id, agent_id } = attempt;
  const next = await pair.call("start_agent_task_attempt", {
    task_id,
    assignee_agent_id: agent_id,
    idempotency_key: "next",
  });
  const done = await pair.call("complete_agent_task_attempt", {
    attempt_ref: attempt.attempt_ref,
    outcome: "failed",
    completion_key: "done",
  });

  expect(reconciled.output).toMatchObject({ dispatch_state: "outcome_unknown", run_state: "lost", run_id: runId });
  expect(reconciled.output).not.toHaveProperty("task_state");
  expect(replayed.output.run_id).toBe(runId);
  expect(next.output.error_kind).toBe("agent_task_execution_outcome_unknown");
  expect(done.output.error_kind).toBe("agent_task_execution_outcome_unknown");
  expect(end).toMatchObject({ state: "lost", execution_state: "outcome_unknown" });
  expect(end.terminal.error_code).toBe("runner_restart_uncertain");
  expect(pair.prompts()).toBe(1);
}, 120_000);

test.concurrent("§10.9 a permission request is shown as waiting, answered cancelled after its time, and never approved", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "permission", permissionSecs: 5 });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;

  const waiting = await pair.observeUntil(runId, (output) => output.state === "waiting_permission");
  const end = await pair.observeUntil(runId, over);

  expect(waiting).toMatchObject({ execution_state: "started", recovery_kind: "wait", terminal: null });
  expect(end.events.map((event: { kind: string }) => event.kind)).toContain("permission_request");
  const answer = pair.frames().find((frame) => frame.id === "perm-1");
  expect(answer?.result).toEqual({ outcome: { outcome: "cancelled" } });
}, 120_000);

for (const [play, forced, code] of [
  ["no_effort", { reasoning_effort: "high" }, "coding_agent_forced_config_not_advertised"],
  ["plain", { model: "model-z" }, "coding_agent_forced_config_invalid"],
  ["deaf", { model: "model-b" }, "coding_agent_forced_config_not_applied"],
] as const) {
  test(`§10.10 forced configuration: ${code} and no prompt`, async () => {
    await using dir = await tempFolder();
    await using pair = new ControlPair(dir.path, { play, forced });
    await pair.start();
    const attempt = await pair.attempt();
    const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;

    const end = await pair.observeUntil(runId, over);

    expect(end).toMatchObject({ state: "failed", execution_state: "not_started", terminal: { error_code: code } });
    expect(pair.prompts()).toBe(0);
  }, 120_000);
}

test.concurrent("§10.7 §10.8 more events than the ring holds: pages say so, an early token has lost history, a foreign one is refused", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "permission_many", maxRuns: 2 });
  await pair.start();
  const runOf = async (name: string) =>
    (await pair.startRun((await pair.attempt(name)).attempt_ref)).output.run_id as string;
  const [runId, other] = [await runOf("one"), await runOf("two")];
  const observe = (after_observation_token: string, run_id = runId) =>
    pair.call("observe_coding_agent", { run_id, after_observation_token });

  const early = await pair.observeUntil(runId, (output) => output.events.length > 0 && output.events.length < 4);
  const end = await pair.observeUntil(runId, over);
  const lost = await observe(early.observation_token);
  const page = await observe(end.observation_token);
  const foreign = await observe(early.observation_token, other);
  const broken = await observe("wcar3_x");

  expect(end.events.length).toBe(64);
  expect(end.has_more).toBe(true);
  expect(end.first_retained_sequence).toBe(304 - 256 + 1);
  expect(lost.output).toMatchObject({ history_lost: true, has_more: true });
  expect(lost.output.events[0].sequence).toBe(304 - 256 + 1);
  expect(page.output).toMatchObject({ history_lost: false, has_more: true });
  expect(page.output.events[0].sequence).toBe(end.events[63].sequence + 1);
  expect(foreign.output.error_kind).toBe("invalid_observation_token");
  expect(broken.output.error_kind).toBe("invalid_observation_token");
}, 120_000);

test.concurrent("§10.12 a runner killed before the barrier: the run failed without a prompt, and its task may be tried again", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "mute" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;

  await pair.runner!.stop({ firstSignal: "SIGKILL" });
  await pair.startRunner();
  const end = await pair.observeUntil(runId, over);
  const reconciled = await pair.reconcile(attempt);

  expect(end).toMatchObject({ state: "failed", execution_state: "not_started" });
  expect(end.terminal.error_code).toBe("runner_restart_not_started");
  expect(reconciled.output).toMatchObject({
    task_state: "failed",
    attempt_state: "failed",
    dispatch_state: "terminal",
  });
  expect(pair.prompts()).toBe(0);
}, 120_000);

test.concurrent("§10.13 a lease that ran out makes the old reference stale, and reconcile still ends the task", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "plain" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, over);

  expireLease(pair.dataFolder, attempt.attempt_id);
  const replayed = await pair.startRun(attempt.attempt_ref);
  const read = await pair.call("read_agent_task", { task_id: attempt.task_id });
  const reconciled = await pair.reconcile(attempt);

  expect(replayed.output.error_kind).toBe("agent_task_attempt_stale");
  expect(read.output.task.summary.latest_attempt.state).toBe("expired");
  expect(reconciled.output).toMatchObject({ task_state: "succeeded", attempt_state: "succeeded", run_id: runId });
  expect(pair.prompts()).toBe(1);
}, 120_000);

/** Lets a minute pass for one attempt, in the rows of the running server. */
function expireLease(dataFolder: string, attemptId: string): void {
  const db = new Database(`${dataFolder}/server.sqlite`);
  try {
    db.run("PRAGMA busy_timeout = 5000");
    const sql = "UPDATE agent_task_attempts SET lease_expires_at_unix_ms = 1 WHERE attempt_id = ?";
    expect(db.query(sql).run(attemptId).changes).toBe(1);
  } finally {
    db.close();
  }
}

test.concurrent("§10.16 another user sees neither project nor run, and cannot observe or cancel it", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  await pair.post("/api/users/create", { username: "bob" });
  const bob = (await pair.post("/api/tokens/create", { username: "bob", scopes: patScopes })).token as string;
  const kind = async (tool: string, params: Record<string, unknown>) =>
    (await pair.call(tool, params, bob)).output.error_kind;

  expect((await pair.call("list_projects", {}, bob)).output.projects).toEqual([]);
  expect(await kind("observe_coding_agent", { run_id: runId })).toBe("unknown_coding_agent_run");
  expect(await kind("cancel_coding_agent", { run_id: runId })).toBe("unknown_coding_agent_run");
  const { task_id, attempt_id } = attempt;
  expect(await kind("reconcile_agent_task_coding_run", { task_id, attempt_id })).toBe("agent_task_attempt_not_found");
  const read = await pair.call("read_files", { project: "agent:box:fixture", items: [{ path: "a.txt" }] }, bob);
  expect(read.success).toBe(false);
  expect(JSON.stringify(read)).not.toContain("one\\ntwo");
}, 120_000);

test.concurrent("§10.11 SIGINT to the runner with a live run ends the run and every process of it", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, (output) => output.execution_state === "started");
  const agents = descendantsOf([pair.runner!.pid]);

  const outcome = await pair.runner!.stop({ firstSignal: "SIGINT", termMs: 15_000 });

  expect(outcome).toBe("gone");
  expect(agents.length).toBeGreaterThan(0);
  expect(agents.filter(isAlive)).toEqual([]);
  expect(pair.frames().filter((frame) => frame.method === "session/cancel").length).toBe(1);
}, 120_000);

test.concurrent("§10.14 a cancel before the prompt is cancelled/not_started without a stop reason", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "mute" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;

  const cancelled = await pair.call("cancel_coding_agent", { run_id: runId });

  expect(cancelled.output).toMatchObject({
    state: "cancelled",
    execution_state: "not_started",
    cancel_requested: false,
  });
  expect(cancelled.output.terminal.stop_reason).toBeNull();
}, 120_000);

test.concurrent("B14 a denial that the agent ignores: waiting is shown, the cancel answers it, and the run is lost after its grace", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "stubborn", permissionSecs: 60 });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, (output) => output.state === "waiting_permission");

  const cancelled = await pair.call("cancel_coding_agent", { run_id: runId });
  const end = await pair.observeUntil(runId, over);
  const again = await pair.call("cancel_coding_agent", { run_id: runId });

  expect(cancelled.success).toBe(true);
  expect(end).toMatchObject({ state: "lost", execution_state: "outcome_unknown", recovery_kind: "reconcile" });
  expect(end.terminal.error_code).toBe("coding_agent_cancel_terminal_missing");
  expect(again.output).toMatchObject({ state: "lost", cancel_requested: false });
  const answers = pair.frames().filter((frame) => frame.id === "perm-1");
  expect(answers.map((frame) => frame.result)).toEqual([{ outcome: { outcome: "cancelled" } }]);
}, 120_000);

test.concurrent("a caller's own configuration: against a forced value it conflicts, outside the allowed ones it is refused, no prompt", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "plain", forced: { model: "model-b" }, maxRuns: 2 });
  await pair.start();
  const [one, two] = [await pair.attempt("one"), await pair.attempt("two")];

  const conflict = await pair.startRun(one.attempt_ref, { config: { model: "model-a" } });
  const other = await pair.startRun(two.attempt_ref, { config: { reasoning_effort: "high" } });
  const ends = [
    await pair.observeUntil(conflict.output.run_id, over),
    await pair.observeUntil(other.output.run_id, over),
  ];

  expect(ends.map((end) => [end.state, end.execution_state, end.terminal.error_code])).toEqual([
    ["failed", "not_started", "coding_agent_forced_config_conflict"],
    ["failed", "not_started", "coding_agent_config_not_allowed"],
  ]);
  expect(pair.prompts()).toBe(0);
}, 120_000);

test.concurrent("a full runner refuses a second run as not started; the same start is sent again once there is room", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const [one, two] = [await pair.attempt("one"), await pair.attempt("two")];
  const runId = (await pair.startRun(one.attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, (output) => output.execution_state === "started");

  const full = await pair.startRun(two.attempt_ref);
  await pair.call("cancel_coding_agent", { run_id: runId });
  await pair.observeUntil(runId, over);
  const sent = await pair.startRun(two.attempt_ref);

  expect(full.output).toMatchObject({ error_kind: "coding_agent_capacity_full", execution_status: "not_started" });
  expect(full.output.recovery_kind).toBe("retry_same");
  expect(sent.output).toMatchObject({ replayed: true, run_id: full.output.run_id });
  expect(pair.prompts()).toBeLessThanOrEqual(2);
}, 120_000);

test.concurrent("a server that is told to stop answers every waiting observer, ends with 0, and takes its port again", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  const seen = await pair.observeUntil(runId, (output) => output.events.length === 2);
  const after_observation_token = seen.observation_token as string;
  const waiting = Array.from({ length: 8 }, () =>
    pair.call("observe_coding_agent", { run_id: runId, after_observation_token, wait_secs: 60 }),
  );
  await pair.longPolls(8);

  const url = pair.url;
  pair.server!.signalLeader("SIGINT");
  const answers = await Promise.all(waiting);
  const ended = await pair.server!.exited;
  await pair.startServer();

  for (const answer of answers) expect(answer.output.error_kind).toBe("coding_agent_runner_unavailable");
  expect(ended).toEqual({ code: 0, signal: null });
  expect(pair.url).toBe(url);
}, 120_000);
