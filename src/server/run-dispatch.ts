// Questions about runs put to their runner, and what the answers prove. Whatever was sent and not answered is
// "outcome unknown"; only what was surely not sent is "not started".
import { sha256Hex } from "../base/bytes.ts";
import { canonicalJson } from "../base/json.ts";
import { CodingResponse, type RunObservation, type RunSnapshot } from "../contract/runs.ts";
import { type RunnerProject, type RunnerProvider, visibleProject } from "./runner-registry.ts";
import { type LiveRun, liveRunsOf } from "./runs.ts";
import type { ToolContext } from "./tool.ts";

export interface RunIntent {
  readonly runId: string;
  readonly project: RunnerProject;
  readonly provider: RunnerProvider;
  readonly instruction: string;
  readonly config: Readonly<Record<string, string | boolean | number>>;
  readonly timeoutSecs: number;
}

export type Dispatch =
  | { readonly dispatch: "answered"; readonly run: RunSnapshot; readonly observation?: RunObservation }
  | { readonly dispatch: "not_started"; readonly code: string }
  | { readonly dispatch: "outcome_unknown"; readonly code: string };

export function authorityOf(context: ToolContext): string {
  return `auth_${sha256Hex(`webcodex-coding-agent-authority-v1\0${context.principal.stable}`)}`;
}

export function intentOf(intent: RunIntent): string {
  const { project, provider, instruction, config, timeoutSecs: timeout_secs } = intent;
  const said = { project: project.id, provider: provider.providerId, instruction, config, timeout_secs };
  return sha256Hex(`webcodex-coding-agent-intent-v1\0${canonicalJson(said)}`);
}

export type Prepared =
  | { readonly ok: true; readonly project: RunnerProject; readonly provider: RunnerProvider }
  | { readonly ok: false; readonly kind: string; readonly more?: Record<string, unknown> };

/** The project and the agent a run needs, if they are there now. */
export function prepare(context: ToolContext, projectId: string, providerId: string): Prepared {
  const project = visibleProject(context.runners, context.principal, projectId);
  if (project === null) return { ok: false, kind: "coding_agent_runner_unavailable" };
  if (!project.allowPatch || project.disabled) return { ok: false, kind: "coding_agent_project_not_writable" };
  const runner = context.runners.runner(project.clientId);
  if (runner === null) return { ok: false, kind: "coding_agent_runner_unavailable" };
  if (runner.capabilities.coding_agent_runs !== true) return { ok: false, kind: "coding_agent_unsupported" };
  const provider = runner.providers.find((one) => one.providerId === providerId);
  if (provider !== undefined) return { ok: true, project, provider };
  const available = runner.providers.map((one) => one.providerId);
  return { ok: false, kind: "coding_agent_provider_unavailable", more: { available_providers: available } };
}

export function dispatchStart(context: ToolContext, intent: RunIntent): Promise<Dispatch> {
  return ask(context, intent.project.clientId, {
    timeoutMs: 32_000,
    timeoutCode: "coding_agent_start_timeout",
    body: {
      operation: "start",
      run_id: intent.runId,
      intent_fingerprint: intentOf(intent),
      authority_fingerprint: authorityOf(context),
      runtime_project_id: intent.project.id,
      project_root: intent.project.path,
      provider_id: intent.provider.providerId,
      provider_instance_id: intent.provider.providerInstanceId,
      instruction: intent.instruction,
      config: intent.config,
      timeout_secs: intent.timeoutSecs,
    },
  });
}

export interface Question {
  readonly body: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly timeoutCode: string;
}

/** One operation and its merged answer. */
export async function ask(context: ToolContext, clientId: string, question: Question): Promise<Dispatch> {
  const answer = await context.runners.request(clientId, {
    kind: "coding_agent",
    timeoutMs: question.timeoutMs,
    payload: { coding_agent: question.body },
  });
  if (answer.outcome === "offline") return { dispatch: "not_started", code: "coding_agent_runner_unavailable" };
  if (answer.outcome === "timeout") return { dispatch: "outcome_unknown", code: question.timeoutCode };
  if (answer.outcome === "lost") return { dispatch: "outcome_unknown", code: "coding_agent_start_outcome_unknown" };
  const parsed = CodingResponse.safeParse(answer.result.coding_agent);
  if (!parsed.success) return { dispatch: "outcome_unknown", code: "invalid_runner_response" };
  const { payload, error, dispatch_state: state } = parsed.data;
  if (error !== undefined)
    return { dispatch: state === "not_started" ? "not_started" : "outcome_unknown", code: error.code };
  if (payload === undefined) return { dispatch: "outcome_unknown", code: "invalid_runner_response" };
  const run = payload.kind === "observe" ? payload.observation.run : payload.run;
  const instanceId = String(answer.result.agent_instance_id);
  if (liveRunsOf(context.runners).merge(run, { clientId, instanceId }) === "conflict")
    return { dispatch: "outcome_unknown", code: "coding_agent_observation_conflict" };
  return {
    dispatch: "answered",
    run,
    ...(payload.kind === "observe" ? { observation: payload.observation } : {}),
  };
}

/** The run, if this caller's authority started it. */
export function visibleRun(context: ToolContext, runId: string): LiveRun | null {
  const run = liveRunsOf(context.runners).get(runId);
  return run !== undefined && run.snapshot.authority_fingerprint === authorityOf(context) ? run : null;
}

/** The runs this caller's authority started, as far as this process has heard of them. */
export function visibleRuns(context: ToolContext): RunSnapshot[] {
  const authority = authorityOf(context);
  const runs = liveRunsOf(context.runners).all();
  return runs.map((run) => run.snapshot).filter((run) => run.authority_fingerprint === authority);
}
