// The managed stage against a control plane that answers as told: what it calls, in which order, and what is on disk
// before each step.
import { expect, test } from "bun:test";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../src/base/census.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { observed, plannedStage } from "./managed-plan.ts";

const waitMs = 120_000;

test(
  "the managed stage claims one attempt, binds one run and keeps it over the restart of its server alone (H154 H155 H156 H158 H159 H160 H170 H177 H179 O022 O023 O027)",
  async () => {
    await using dir = await tempFolder();
    const report = () => JSON.parse(readFileSync(join(dir.path, "out/report.json"), "utf8"));
    const atPhase: Record<string, unknown> = {};
    const onPhase = (phase: string) => {
      if (phase === "attempt_claimed") {
        const path = join(dir.path, "out/private/attempt.json");
        atPhase[phase] = existsSync(path) && [lstatSync(path).mode & 0o777, JSON.parse(readFileSync(path, "utf8"))];
      }
      if (phase === "before_server_restart")
        atPhase[phase] = [
          report().phase,
          report().recovery.phase_before_disconnect,
          stage.run.services.server?.running(),
        ];
    };
    await using stage = await plannedStage(dir.path, {}, { doors: { onPhase } });
    const { run } = stage;
    const oldServer = run.services.server?.id;
    const runner = run.services.runner?.pid;

    // The stand-in dispatches nothing, so the stage ends where the relay's file is missing: all before it has happened.
    expect(await stage.managed()).toBe("audit_missing");

    const calls = stage.calls().slice(1); // the first is provisioning's own initialize
    const of = (tool: string) => calls.filter((call) => call.tool === tool);
    expect(calls.map((call) => call.tool)).toEqual([
      "create_agent_identity",
      "create_agent_task",
      "start_agent_task_attempt",
      "start_agent_task_coding_run",
      "start_agent_task_coding_run",
      "observe_coding_agent",
      "observe_coding_agent",
      "observe_coding_agent",
      "initialize",
      "read_agent_task",
      "reconcile_agent_task_coding_run",
      "observe_coding_agent",
      "observe_coding_agent",
      "reconcile_agent_task_coding_run",
    ]);
    expect(of("create_agent_identity")[0]?.args).toMatchObject({
      handle: "codex-acceptance",
      idempotency_key: "codex-bidirectional-agent",
    });
    expect(of("create_agent_task")[0]?.args).toMatchObject({
      assignee_agent_id: "agent_1",
      referenced_project_id: run.services.project,
      idempotency_key: "codex-bidirectional-clamp",
    });
    const instruction: string = of("create_agent_task")[0]?.args["instruction"];
    for (const wanted of [
      /inclusively/,
      /RangeError when lower is greater than upper/,
      /leave that file as it is/,
      /Add one further small test file/,
      /Change no other file that exists already/,
      /Install nothing/,
      /no network/,
      /no credentials/,
      /no further permission/,
      /delegate nothing/,
      /no WebCodex lifecycle object/,
    ])
      expect(instruction).toMatch(wanted);
    expect(of("start_agent_task_attempt")[0]?.args).toEqual({
      task_id: "task_1",
      assignee_agent_id: "agent_1",
      idempotency_key: "codex-bidirectional-clamp-attempt",
    });

    const [mode, saved] = atPhase["attempt_claimed"] as [number, Record<string, unknown>];
    expect([mode, saved["attempt_ref"]]).toEqual([0o600, "ref_1"]);
    const [start, replay] = of("start_agent_task_coding_run");
    expect(start?.report["phase"]).toBe("attempt_claimed");
    expect(start?.args).toEqual({
      project: run.services.project,
      provider_id: "codex",
      attempt_ref: "ref_1",
      timeout_secs: run.options.timeoutS,
    });
    expect(replay?.args).toEqual(start?.args ?? {});
    expect(replay?.report).toMatchObject({
      phase: "coding_run_bound",
      managed: {
        run_id: "run_1",
        initial_binding: { task_id: "task_1", attempt_id: "attempt_1", run_id: "run_1", dispatch_state: "dispatched" },
      },
    });

    const before = of("observe_coding_agent").map(({ report }) => [
      report["recovery"].run_state_before_disconnect,
      report["recovery"].execution_state_before_disconnect,
    ]);
    expect(before).toEqual([
      [undefined, undefined],
      ["starting", "not_started"],
      ["running", "not_started"],
      ["running", "started"],
      ["running", "started"],
    ]);
    expect(atPhase["before_server_restart"]).toEqual(["before_server_restart", "in_flight", true]);

    const [first, second] = stage.starts();
    expect(stage.starts()).toHaveLength(2);
    expect(second?.["env"].WEBCODEX_DATA).toBe(first?.["env"].WEBCODEX_DATA);
    expect(second?.["env"].WEBCODEX_ADDR).toBe(first?.["env"].WEBCODEX_ADDR);
    expect(of("initialize")[0]?.pid).toBe(second?.["pid"]);
    expect(oldServer === undefined || isAlive(oldServer)).toBe(false);
    expect(report().recovery).toMatchObject({
      exact_binding_replay_same_run: true,
      phase_before_disconnect: "in_flight",
      run_state_before_disconnect: "running",
      execution_state_before_disconnect: "started",
      old_server_pid: first?.["pid"],
      new_server_pid: second?.["pid"],
      preserved_runner_pid: runner,
      same_server_data: run.space.data,
      new_server_process: true,
    });
  },
  waitMs,
);

for (const [title, steps, code] of [
  ["history was lost", [observed("running", "started", { history_lost: true })], "managed_event_history_lost"],
  ["a state is missing", [observed("running", "")], "recovery_execution_state_missing"],
  ["another run answers", [observed("running", "started", { run_id: "run_2" })], "recovery_observed_wrong_run"],
  ["nothing is ever in flight", [observed("running", "not_started")], "recovery_observation_deadline"],
] as const)
  test(
    `the stage ends before any restart when ${title} (O024)`,
    async () => {
      await using dir = await tempFolder();
      const doors = { limits: { observationDeadlineMs: 1_000 } };
      await using stage = await plannedStage(dir.path, { observe_coding_agent: steps }, { doors });
      const server = stage.run.services.server?.id;

      expect(await stage.managed()).toBe(code);

      expect(stage.starts()).toHaveLength(1);
      expect(stage.run.services.server?.id).toEqual(server);
      expect(stage.run.services.server?.running()).toBe(true);
      expect(stage.calls().filter((call) => call.tool === "read_agent_task")).toEqual([]);
    },
    waitMs,
  );

test(
  "the stage ends before any observation when the start names no run (O024)",
  async () => {
    await using dir = await tempFolder();
    const steps = { start_agent_task_coding_run: [{ output: { task_id: "task_1" } }] };
    await using stage = await plannedStage(dir.path, steps);

    expect(await stage.managed()).toBe("tool_answer_incomplete");
    expect(stage.starts()).toHaveLength(1);
    expect(stage.calls().map((call) => call.tool)).not.toContain("observe_coding_agent");
  },
  waitMs,
);

for (const [title, step, phase] of [
  ["was over already", observed("completed", "completed"), "terminal"],
  ["failed before its prompt", observed("failed", "not_started"), "before_prompt"],
] as const)
  test(
    `a run that ${title} is reconciled, replaced by none, and no recovery (O025 O027)`,
    async () => {
      await using dir = await tempFolder();
      await using stage = await plannedStage(dir.path, { observe_coding_agent: [step] });

      expect(await stage.managed()).not.toBe("none");

      const tools = stage.calls().map((call) => call.tool);
      expect(tools.filter((tool) => tool === "reconcile_agent_task_coding_run")).toHaveLength(2);
      expect(tools.filter((tool) => tool === "start_agent_task_coding_run")).toHaveLength(2);
      expect(tools.filter((tool) => tool === "start_agent_task_attempt")).toHaveLength(1);
      expect(stage.starts()).toHaveLength(2);
      expect(stage.run.book.recovery).toMatchObject({
        passed: false,
        phase_before_disconnect: phase,
        failure: "in_flight_restart_not_observed",
      });
    },
    waitMs,
  );
