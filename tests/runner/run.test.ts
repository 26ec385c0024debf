import { expect, test } from "bun:test";
import { descendantsOf, isAlive } from "../../src/base/census.ts";
import { ControlPair } from "../support/control-pair.ts";
import { tempFolder } from "../support/temp-folder.ts";

const over = (output: Record<string, unknown>) => output.terminal !== null;

test("a whole run: one prompt on replay, events, reconcile succeeded, file reads byte-true", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, {
    play: "plain",
    forced: { model: "model-b", reasoning_effort: "high" },
  });
  await pair.start();
  const attempt = await pair.attempt();

  const [first, second] = await Promise.all([pair.startRun(attempt.attempt_ref), pair.startRun(attempt.attempt_ref)]);
  const runId = first.output.run_id as string;
  const end = await pair.observeUntil(runId, over);
  const { task_id, attempt_id } = attempt;
  const reconciled = await pair.call("reconcile_agent_task_coding_run", { task_id, attempt_id });
  const read = await pair.call("read_files", { project: "agent:box:fixture", items: [{ path: "a.txt" }] });

  expect(second.output.run_id).toBe(runId);
  expect(pair.prompts()).toBe(1);
  expect(end).toMatchObject({ state: "completed", execution_state: "completed", history_lost: false });
  expect(end.events.map((event: { kind: string }) => event.kind)).toEqual(["agent_message", "file_change", "terminal"]);
  expect(reconciled.output).toMatchObject({ task_state: "succeeded", attempt_state: "succeeded", run_id: runId });
  expect(read.output.items[0].output.text).toBe("one\ntwo\n");
}, 120_000);

test("a server killed in a run leaves runner and run alone: same ids, old token stale, cancelled by its answer", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  const before = await pair.observeUntil(runId, (output) => output.execution_state === "started");

  await pair.server!.stop({ firstSignal: "SIGKILL" });
  await pair.startServer();
  await pair.projectIsThere();
  const stale = await pair.call("observe_coding_agent", {
    run_id: runId,
    after_observation_token: before.observation_token,
  });
  const fresh = await pair.call("observe_coding_agent", { run_id: runId });
  const wrong = await pair.call("observe_coding_agent", { run_id: runId, after_observation_token: "wcar3_x" });
  await pair.call("cancel_coding_agent", { run_id: runId });
  const end = await pair.observeUntil(runId, over);

  expect(pair.runner!.running()).toBe(true);
  expect(stale.output.history_lost).toBe(true);
  expect(fresh.output.history_lost).toBe(false);
  expect(wrong.output.error_kind).toBe("invalid_observation_token");
  expect(end).toMatchObject({
    state: "cancelled",
    execution_state: "completed",
    terminal: { stop_reason: "cancelled" },
  });
  expect(pair.prompts()).toBe(1);
}, 120_000);

test("a runner killed after the barrier: the run is lost, and never prompted again", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, (output) => output.execution_state === "started");

  await pair.runner!.stop({ firstSignal: "SIGKILL" });
  await pair.startRunner();
  const end = await pair.observeUntil(runId, over);

  expect(end).toMatchObject({ state: "lost", execution_state: "outcome_unknown" });
  expect(end.terminal.error_code).toBe("runner_restart_uncertain");
  expect(pair.prompts()).toBe(1);
}, 120_000);

test("a permission request is shown, answered cancelled after its time, and never approved", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "permission" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;

  const end = await pair.observeUntil(runId, over);

  expect(end.events.map((event: { kind: string }) => event.kind)).toContain("permission_request");
  const answer = pair.frames().find((frame) => frame.id === "perm-1");
  expect(answer?.result).toEqual({ outcome: { outcome: "cancelled" } });
}, 120_000);

for (const [play, forced, code] of [
  ["no_effort", { reasoning_effort: "high" }, "coding_agent_forced_config_not_advertised"],
  ["plain", { model: "model-z" }, "coding_agent_forced_config_invalid"],
  ["deaf", { model: "model-b" }, "coding_agent_forced_config_not_applied"],
] as const) {
  test(`forced configuration: ${code} and no prompt`, async () => {
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

test("more events than the ring holds: pages say so, and the oldest kept one is told", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "many" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;

  const end = await pair.observeUntil(runId, over);

  expect(end.events.length).toBe(64);
  expect(end.has_more).toBe(true);
  expect(end.first_retained_sequence).toBe(303 - 256 + 1);
}, 120_000);

test("SIGINT to the runner with a live run ends the run and every process of it", async () => {
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

test("a cancel before the prompt is cancelled/not_started without a stop reason", async () => {
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
