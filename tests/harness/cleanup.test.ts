// Clean-up: the execution is asked for once more, cancelled when it lives on, and its end is said as it was seen.
import { expect, test } from "bun:test";
import { isAlive } from "../../src/base/census.ts";
import { startGroup } from "../../src/base/process-group.ts";
import { closeRun, executionEnd } from "../../src/harness/cleanup.ts";
import { runLimits } from "../../src/harness/limits.ts";
import type { Run } from "../../src/harness/run.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { honestSteps, observed, plannedStage, type Step } from "./managed-plan.ts";

const waitMs = 120_000;
const binding = honestSteps["reconcile_agent_task_coding_run"] ?? [];

/** As the managed stage leaves it once an attempt is claimed; with a run when the start was answered. */
function claimed(run: Run, runId?: string): void {
  Object.assign(run.book.managed, { task_id: "task_1", attempt_id: "attempt_1" });
  if (runId === undefined) return;
  run.book.managed["run_id"] = runId;
  if (run.operator !== null) run.operator.binding = { run_id: runId };
}

async function closed(steps: Readonly<Record<string, readonly Step[]>>, limits = {}, runId?: string) {
  await using dir = await tempFolder();
  await using stage = await plannedStage(dir.path, steps, { doors: { limits } });
  claimed(stage.run, runId);
  await closeRun(stage.run);
  const calls = stage.calls().slice(1);
  return { cleanup: stage.run.book.cleanup, managed: stage.run.book.managed, calls };
}

test("executionEnd() knows an end only for completed, failed and cancelled (H214)", () => {
  for (const state of ["completed", "failed", "cancelled"])
    expect(executionEnd(state)).toEqual({ execution_terminal_observed: true, execution_outcome: state });
  expect(executionEnd("lost")).toEqual({ execution_terminal_observed: false, execution_outcome: "outcome_unknown" });
  for (const state of ["starting", "running", "waiting_permission"])
    expect(executionEnd(state)).toEqual({ execution_terminal_observed: false, execution_outcome: state });
});

test(
  "a run that was dispatched although its start failed is found by its attempt, and cancelled by exactly its id (H211 H212)",
  async () => {
    const { cleanup, managed, calls } = await closed({
      observe_coding_agent: [
        observed("running", "started"),
        observed("running", "started"),
        observed("cancelled", "started"),
      ],
    });

    expect(calls.map(({ tool, args }) => [tool, args])).toEqual([
      ["reconcile_agent_task_coding_run", { task_id: "task_1", attempt_id: "attempt_1" }],
      ["observe_coding_agent", { run_id: "run_1", wait_secs: 0 }],
      ["cancel_coding_agent", { run_id: "run_1" }],
      ["observe_coding_agent", { run_id: "run_1", wait_secs: 5 }],
      ["observe_coding_agent", { run_id: "run_1", wait_secs: 5 }],
    ]);
    expect(managed["run_id"]).toBe("run_1");
    expect(cleanup).toMatchObject({
      cancel_requested_for: "run_1",
      execution_terminal_observed: true,
      execution_outcome: "cancelled",
      server_stopped: true,
      runner_stopped: true,
      process_cleanup_finished: true,
    });
  },
  waitMs,
);

test(
  "a run that ignores its cancel is waited for within the limit, and said to run (H213)",
  async () => {
    const steps = { observe_coding_agent: [observed("running", "started")] };
    const { cleanup, calls } = await closed(steps, { cancelWaitMs: 400 });

    expect(runLimits(300).cancelWaitMs).toBe(20_000);
    expect(calls.filter(({ tool }) => tool === "cancel_coding_agent")).toHaveLength(1);
    const waits = calls.filter(({ tool }) => tool === "observe_coding_agent").map(({ args }) => args["wait_secs"]);
    expect(waits.length).toBeGreaterThanOrEqual(2);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1); // never longer than what is left of the limit
    expect(cleanup).toMatchObject({ execution_terminal_observed: false, execution_outcome: "running" });
  },
  waitMs,
);

test(
  "an attempt that cannot be reconciled is said to be, and the run known before is still looked at (H211)",
  async () => {
    const steps = {
      reconcile_agent_task_coding_run: [{ success: false, output: { error_kind: "attempt_unknown" } }],
      observe_coding_agent: [observed("completed", "completed")],
    };
    const { cleanup, calls } = await closed(steps, {}, "run_1");

    expect(calls.map(({ tool }) => tool)).toEqual(["reconcile_agent_task_coding_run", "observe_coding_agent"]);
    expect(cleanup).toMatchObject({
      binding_reconcile: "unavailable",
      execution_terminal_observed: true,
      execution_outcome: "completed",
    });
    expect(cleanup["cancel_requested_for"]).toBeUndefined();
  },
  waitMs,
);

test(
  "a server that ends in the middle of it leaves the outcome unknown (H215)",
  async () => {
    for (const steps of [
      { observe_coding_agent: [{ exit: true }] },
      { observe_coding_agent: [observed("running", "started")], cancel_coding_agent: [{ exit: true }] },
      { observe_coding_agent: [observed("running", "started")], cancel_coding_agent: [{ success: false }] },
    ] satisfies Record<string, Step[]>[]) {
      const { cleanup } = await closed({ ...steps, reconcile_agent_task_coding_run: binding });
      expect(cleanup).toMatchObject({
        execution_terminal_observed: false,
        execution_outcome: "outcome_unknown",
        process_cleanup_finished: true,
      });
    }
  },
  waitMs,
);

test(
  "a server that is dead already is asked nothing (H211)",
  async () => {
    await using dir = await tempFolder();
    await using stage = await plannedStage(dir.path);
    claimed(stage.run, "run_1");
    await stage.run.services.server?.stop();

    await closeRun(stage.run);

    expect(stage.calls().slice(1)).toEqual([]);
    expect(stage.run.book.cleanup).toMatchObject({ execution_terminal_observed: false, server_stopped: true });
  },
  waitMs,
);

test(
  "the consumer's group is ended at the close when its start failed half-way, and not looked at again once it was (H210)",
  async () => {
    await using dir = await tempFolder();
    await using stage = await plannedStage(dir.path);
    const { run } = stage;
    run.consumer = startGroup({ command: "/bin/sleep", args: ["600"], cwd: dir.path, env: {} });

    await closeRun(run);

    expect(isAlive(run.consumer.id)).toBe(false);
    expect(run.book.cleanup).toMatchObject({ consumer_group_stopped: true, consumer_stopped: true });

    let stops = 0;
    const stop = async () => {
      stops += 1;
      return "gone" as const;
    };
    run.consumer = { ...run.consumer, stop };
    await closeRun(run);
    expect(stops).toBe(0);
  },
  waitMs,
);
