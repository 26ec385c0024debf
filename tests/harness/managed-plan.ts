// What a stand-in control plane is told to answer in the managed stage, and the stage run against it.

import { createFixture } from "../../src/harness/fixture.ts";
import { failureOf } from "../../src/harness/harness.ts";
import { managedStage } from "../../src/harness/managed.ts";
import { provision } from "../../src/harness/provision.ts";
import { type Recorded, type StageOptions, stageRun } from "./stage-run.ts";

export interface Step {
  readonly output?: Record<string, unknown>;
  readonly success?: boolean;
  /** The server ends instead of answering. */
  readonly exit?: boolean;
}

const ids = { task_id: "task_1", attempt_id: "attempt_1", run_id: "run_1" };

/** One answer of `observe_coding_agent`. */
export function observed(state: string, execution: string, more: Record<string, unknown> = {}): Step {
  const events: unknown[] = [];
  const answer = { run_id: "run_1", state, execution_state: execution, history_lost: false, has_more: false, events };
  return { output: { ...answer, observation_token: `token-${state}-${execution}`, ...more } };
}

export const ended = observed("completed", "completed", {
  terminal: { stop_reason: "end_turn" },
  events: [{ kind: "agent_message" }, { kind: "tool_activity" }],
});

/** The answers of an honest control plane, by tool, in order; the last one again and again. */
export const honestSteps: Readonly<Record<string, readonly Step[]>> = {
  create_agent_identity: [{ output: { agent: { agent_id: "agent_1" } } }],
  create_agent_task: [{ output: { task: { summary: { task_id: "task_1" } } } }],
  start_agent_task_attempt: [
    { output: { attempt: { attempt_id: "attempt_1", attempt_controller_generation: 3 }, attempt_ref: "ref_1" } },
  ],
  start_agent_task_coding_run: [{ output: { ...ids, provider_id: "codex", dispatch_state: "dispatched" } }],
  observe_coding_agent: [
    observed("starting", "not_started"),
    observed("running", "not_started"),
    observed("running", "started"),
    observed("running", "started"),
    ended,
  ],
  read_agent_task: [{ output: { task: { summary: { task_id: "task_1" } } } }],
  reconcile_agent_task_coding_run: [{ output: { ...ids, task_state: "succeeded" } }],
  cancel_coding_agent: [{ output: {} }],
};

/** A run whose services stand, answered as told; leaving the scope ends them. */
export async function plannedStage(
  folder: string,
  steps: Readonly<Record<string, readonly Step[]>> = {},
  options: Pick<StageOptions, "doors" | "accept"> = {},
) {
  const stage = stageRun(folder, {
    ...options,
    plan: (all) => ({ server: all.server({ steps: { ...honestSteps, ...steps } }), runner: all.runner() }),
  });
  const fixture = await createFixture(stage.run, null);
  await provision(stage.run);
  return {
    run: stage.run,
    /** The code the managed stage ends with. */
    managed: () =>
      managedStage(stage.run, fixture).then(
        () => "none",
        (error) => failureOf(error),
      ),
    calls: () => callsIn(stage.recorded()),
    starts: () => stage.recorded().filter((row) => row["program"] === "server"),
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  };
}

/** Tool calls in order: name, arguments, and the report on disk at that moment. */
function callsIn(rows: readonly Recorded[]): { tool: string; args: Recorded; report: Recorded; pid: number }[] {
  let pid = 0;
  const calls: { tool: string; args: Recorded; report: Recorded; pid: number }[] = [];
  for (const row of rows) {
    if (row["program"] === "server") pid = row["pid"];
    if (row["path"] !== "/mcp") continue;
    const { method, params } = row["body"];
    const tool = method === "initialize" ? "initialize" : params.arguments.tool;
    calls.push({ tool, args: params.arguments?.arguments, report: row["report"], pid });
  }
  return calls;
}
