// Runs by their id: start an unmanaged one, watch, cancel. A caller sees only runs that its own authority started.
import { ConfigValues, isTerminal, type RunSnapshot, type RunTerminal } from "../../contract/runs.ts";
import { z } from "../../contract/schema.ts";
import { observationKey, readToken, writeToken } from "../observation-token.ts";
import { recordObservation } from "../run-bindings.ts";
import { ask, dispatchStart, intentOf, prepare, visibleRun } from "../run-dispatch.ts";
import { liveRunsOf, runIdOf } from "../runs.ts";
import { defineTool, refuse, succeed, type ToolContext, type ToolResult } from "../tool.ts";

function terminalWire(end: RunTerminal | null | undefined): Record<string, unknown> | null {
  if (end == null) return null;
  return {
    stop_reason: end.stop_reason ?? null,
    error_code: end.error_code ?? null,
    message: end.message ?? null,
    completed_at: end.completed_at,
  };
}

function runWire(run: RunSnapshot): Record<string, unknown> {
  return {
    run_id: run.run_id,
    project: run.runtime_project_id,
    provider_id: run.provider_id,
    state: run.state,
    execution_state: run.execution_state,
    terminal: terminalWire(run.terminal),
  };
}

function place(context: ToolContext, runId: string) {
  const key = observationKey(context.privateFolder, context.random);
  return { runId, epoch: liveRunsOf(context.runners).epoch, key };
}

function recoveryOf(run: RunSnapshot): string {
  if (run.state === "starting" || run.state === "running") return "reobserve";
  if (run.state === "waiting_permission") return "wait";
  return run.state === "lost" ? "reconcile" : "none";
}

function failed(kind: string, runId: string, started: boolean, recovery = "reobserve"): ToolResult {
  return refuse(kind, `The run could not be reached: ${kind}.`, {
    run_id: runId,
    execution_state: started ? "outcome_unknown" : "not_started",
    recovery_kind: recovery,
  });
}

const observeCodingAgent = defineTool({
  name: "observe_coding_agent",
  description: "Read a run's state and events; waits for the next event up to a minute.",
  scopes: ["coding_agent:run"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () =>
    z.strictObject({
      run_id: z.string().min(1).max(96),
      after_observation_token: z.string().nullish(),
      wait_secs: z.int().min(0).default(0),
    }),
  async run(context, args) {
    const live = visibleRun(context, args.run_id);
    if (live === null) return failed("unknown_coding_agent_run", args.run_id, false);
    const here = place(context, args.run_id);
    const given = args.after_observation_token ?? null;
    const reading = given === null ? null : readToken(here, given);
    if (reading?.token === "invalid") return failed("invalid_observation_token", args.run_id, true, "fix_input");
    const after = reading?.token === "valid" ? reading.after : undefined;
    const waitSecs = Math.min(args.wait_secs, 60);
    const leave = waitSecs > 0 ? context.enterLongPoll() : null;
    try {
      const question = ask(context, live.clientId, {
        timeoutMs: (waitSecs + 5) * 1000,
        timeoutCode: "coding_agent_observe_timeout",
        body: {
          operation: "observe",
          run_id: args.run_id,
          limit: 64,
          // Without a free place for another long poll the answer comes at once.
          wait_secs: leave === null ? 0 : waitSecs,
          ...(after === undefined ? {} : { after_sequence: after }),
        },
      });
      const answer = await Promise.race([question, abortOf(context.signal)]);
      if (answer === null) return failed("coding_agent_runner_unavailable", args.run_id, true);
      if (answer.dispatch !== "answered" || answer.observation === undefined) {
        const run = visibleRun(context, args.run_id)?.snapshot ?? live.snapshot;
        if (answer.dispatch !== "answered" && !isTerminal(run.state)) return failed(answer.code, args.run_id, true);
        return succeed({
          ...runWire(run),
          events: [],
          observation_token: writeToken(here, after ?? 0),
          has_more: false,
          history_lost: true,
          first_retained_sequence: 1,
          recovery_kind: recoveryOf(run),
        });
      }
      const { observation, run } = answer;
      await context.store.write((db) => recordObservation(db, run));
      const last = observation.events.at(-1)?.sequence ?? after ?? 0;
      return succeed({
        ...runWire(run),
        events: observation.events,
        observation_token: writeToken(here, last),
        has_more: observation.has_more,
        history_lost: observation.history_lost || reading?.token === "stale",
        first_retained_sequence: observation.first_retained_sequence,
        recovery_kind: recoveryOf(run),
      });
    } finally {
      leave?.();
    }
  },
});

function abortOf(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

const cancelCodingAgent = defineTool({
  name: "cancel_coding_agent",
  description: "Ask a run to end; harmless when it already has.",
  scopes: ["coding_agent:run"],
  visibility: "gateway",
  input: () => z.strictObject({ run_id: z.string().min(1).max(96) }),
  async run(context, args) {
    const live = visibleRun(context, args.run_id);
    if (live === null) return failed("unknown_coding_agent_run", args.run_id, false);
    const shown = (run: RunSnapshot) => succeed({ ...runWire(run), cancel_requested: !isTerminal(run.state) });
    if (isTerminal(live.snapshot.state)) return shown(live.snapshot);
    const answer = await ask(context, live.clientId, {
      timeoutMs: 32_000,
      timeoutCode: "coding_agent_cancel_timeout",
      body: { operation: "cancel", run_id: args.run_id },
    });
    if (answer.dispatch === "answered") return shown(answer.run);
    const kind = answer.code === "coding_agent_runner_unavailable" ? "coding_agent_cancel_unavailable" : answer.code;
    return failed(kind, args.run_id, true);
  },
});

const startCodingAgent = defineTool({
  name: "start_coding_agent",
  description: "Start a coding run that belongs to no task.",
  scopes: ["coding_agent:run", "project:write"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      project: z.string().min(1).max(512),
      provider_id: z.string().min(1).max(64),
      idempotency_key: z
        .string()
        .min(1)
        .max(256)
        .regex(/^[^\0\r\n]*$/),
      instruction: z
        .string()
        .min(1)
        .max(65_536)
        .regex(/^[^\0]*$/),
      config: ConfigValues.refine((value) => Object.keys(value).length <= 32).default({}),
      timeout_secs: z.int().min(1).max(3600).default(300),
    }),
  async run(context, args) {
    const runId = runIdOf(context.principal.stable, args.idempotency_key);
    const ready = prepare(context, args.project, args.provider_id);
    if (!ready.ok) return refuse(ready.kind, "The run cannot start.", { recovery_kind: "fix_input", ...ready.more });
    const { project, provider } = ready;
    const { instruction, config, timeout_secs: timeoutSecs } = args;
    const intent = { runId, project, provider, instruction, config, timeoutSecs };
    const known = visibleRun(context, runId)?.snapshot;
    if (known !== undefined && known.intent_fingerprint !== intentOf(intent))
      return failed("idempotency_conflict", runId, false, "fix_input");
    const sent = known ?? (await dispatchStart(context, intent));
    if ("dispatch" in sent && sent.dispatch !== "answered")
      return failed(sent.code, runId, sent.dispatch === "outcome_unknown", "retry_same");
    const run = "dispatch" in sent ? sent.run : sent;
    return succeed({ ...runWire(run), observation_token: writeToken(place(context, runId), 0) });
  },
});

export const codingAgentTools = [startCodingAgent, observeCodingAgent, cancelCodingAgent] as const;
