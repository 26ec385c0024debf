// The runner: offers projects and agents, admits runs, and answers the server's requests. What a dead runner left
// recorded is read first, so that no run is ever prompted a second time.
import { realpathSync } from "node:fs";
import { toHex } from "../base/bytes.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import type { Environment } from "../base/environment.ts";
import { type Pause, pauseAt } from "../base/pause-point.ts";
import { type RandomBytes, systemRandom } from "../base/random.ts";
import type { LinkRequest } from "../contract/runner-link.ts";
import {
  CodingRequest,
  type CodingResponse,
  type CodingStart,
  isTerminal,
  type RunSnapshot,
} from "../contract/runs.ts";
import type { RunCode, RunRefusalCode } from "./codes.ts";
import type { AgentConfig, RunnerConfig } from "./config-file.ts";
import { runnerLimits } from "./limits.ts";
import { type RegisteredProject, readProjectFile, readProjects, writeProjectFile } from "./project-files.ts";
import { CodingRun } from "./run.ts";
import { RunJournal, type RunRecord } from "./run-journal.ts";
import { RunView } from "./run-view.ts";
import { ServerLink } from "./server-link.ts";

export interface RunnerOptions {
  readonly config: RunnerConfig;
  /** `<XDG_STATE_HOME>/webcodex`. */
  readonly stateFolder: string;
  readonly environment: Environment;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
}

export class Runner {
  readonly instanceId: string;
  readonly #options: RunnerOptions;
  readonly #clock: Clock;
  readonly #pause: Pause;
  readonly #journal: RunJournal;
  readonly #views = new Map<string, RunView>();
  readonly #live = new Set<CodingRun>();
  readonly #providers: ReadonlyMap<string, { readonly agent: AgentConfig; readonly instance: string }>;
  #stopping = false;

  constructor(options: RunnerOptions) {
    const random = options.random ?? systemRandom;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#pause = pauseAt(options.environment);
    this.instanceId = toHex(random(16));
    this.#providers = new Map(
      options.config.agents.map((agent) => [agent.id, { agent, instance: `acp_${toHex(random(16))}` }]),
    );
    const { clientId, serverUrl } = options.config;
    this.#journal = new RunJournal(options.stateFolder, { clientId, serverUrl });
    for (const record of this.#journal.scan(this.#clock.wallMs())) this.#recover(record);
  }

  /** What this runner tells a server when it connects. */
  registration(): Record<string, unknown> {
    const { config } = this.#options;
    return {
      type: "register",
      client_id: config.clientId,
      agent_instance_id: this.instanceId,
      agent_protocol_generation: 2,
      ...(config.owner === null ? {} : { owner: config.owner }),
      capabilities: { file_read: true, file_write: true, shell: false, coding_agent_runs: config.agents.length > 0 },
      projects: readProjects(config).map((project) => ({
        id: project.id,
        name: project.name ?? null,
        path: project.root,
        allow_patch: project.allow_patch,
        disabled: project.disabled,
        description: project.description ?? null,
      })),
      coding_agent_providers: [...this.#providers].map(([id, { agent, instance }]) => ({
        provider_id: id,
        provider_instance_id: instance,
        name: agent.name,
      })),
      coding_agent_inventory: {
        runs: [...this.#views.values()].slice(-runnerLimits.maxRecords).map((view) => view.snapshot),
      },
    };
  }

  /** The body of the `result` for one request. */
  async handle(request: LinkRequest): Promise<Record<string, unknown>> {
    if (request.kind === "coding_agent") return { coding_agent: await this.#coding(request.coding_agent) };
    if (request.kind !== "file_read" && request.kind !== "file_write") return { error: "unsupported_kind" };
    const { project: id, path, start_line: line, limit, text, expected_sha256: expected } = request;
    const project = this.#project(typeof id === "string" ? id : "");
    if (project === undefined || typeof path !== "string") return { reason_code: "not_found" };
    if (request.kind === "file_read") {
      const range = {
        path,
        startLine: typeof line === "number" ? line : 1,
        limit: typeof limit === "number" ? limit : runnerLimits.maxReadLines,
      };
      return { ...readProjectFile(project, range) };
    }
    if (typeof text !== "string") return { reason_code: "invalid_path" };
    const seen = request.absent === true || typeof expected !== "string" ? null : expected;
    return { ...writeProjectFile(project, { path, text, expected: seen }) };
  }

  /** Ends every run within its limits; nothing of it stays behind. */
  async drain(): Promise<void> {
    this.#stopping = true;
    for (const run of this.#live) run.stop("shutdown");
    const all = Promise.all([...this.#live].map((run) => run.done));
    await Promise.race([all, this.#clock.sleep(runnerLimits.drainMs)]);
  }

  #project(id: string): RegisteredProject | undefined {
    return readProjects(this.#options.config).find((one) => one.id === id && !one.disabled);
  }

  async #coding(value: unknown): Promise<CodingResponse> {
    const parsed = CodingRequest.safeParse(value);
    if (!parsed.success) return refused("invalid_coding_agent_request");
    const request = parsed.data;
    if (request.operation === "start") return this.#start(request);
    const view = this.#views.get(request.run_id);
    if (view === undefined) return refused("unknown_coding_agent_run");
    if (request.operation === "observe") {
      if ((request.after_sequence ?? 0) >= view.observe(undefined, 1).next_sequence)
        return refused("invalid_coding_agent_observation_cursor");
      await view.wait(request.after_sequence, request.wait_secs * 1000);
      const observation = view.observe(request.after_sequence, request.limit);
      return { dispatch_state: "completed", payload: { kind: "observe", observation } };
    }
    const run = [...this.#live].find((one) => one.view === view);
    run?.stop("cancel");
    if (run !== undefined && !view.terminal) await Promise.race([run.done, this.#clock.sleep(6000)]);
    return { dispatch_state: "completed", payload: { kind: "cancel", run: view.snapshot } };
  }

  #start(start: CodingStart): CodingResponse {
    if (this.#stopping) return refused("coding_agent_stopping");
    const known = this.#views.get(start.run_id);
    if (known !== undefined) {
      if (known.snapshot.intent_fingerprint !== start.intent_fingerprint) return refused("idempotency_conflict");
      return started(known.snapshot);
    }
    const provider = this.#providers.get(start.provider_id);
    if (provider === undefined) return refused("coding_agent_provider_unavailable");
    if (provider.instance !== start.provider_instance_id) return refused("stale_coding_agent_provider");
    if (!this.#projectFits(start)) return refused("stale_coding_agent_project");
    if ([...this.#views.values()].filter((view) => !view.terminal).length >= this.#options.config.maxConcurrentRuns)
      return refused("coding_agent_capacity_full");
    const env = this.#environmentFor(provider.agent);
    if (env === null) return refused("coding_agent_environment_unavailable");
    try {
      const record = this.#journal.read(start.run_id);
      if (record !== null)
        return record.run.intent_fingerprint === start.intent_fingerprint
          ? started(record.run)
          : refused("idempotency_conflict");
    } catch {
      return refused("coding_agent_durable_state_unavailable", "outcome_unknown");
    }
    const now = Math.floor(this.#clock.wallMs() / 1000);
    const { run_id, intent_fingerprint, authority_fingerprint, runtime_project_id, provider_id, provider_instance_id } =
      start;
    const snapshot: RunSnapshot = {
      run_id,
      intent_fingerprint,
      authority_fingerprint,
      runtime_project_id,
      provider_id,
      provider_instance_id,
      state: "starting",
      execution_state: "not_started",
      observation_revision: 1,
      created_at: now,
      updated_at: now,
    };
    try {
      this.#journal.write({ schema_version: 1, dispatch_phase: "before_prompt_barrier", run: snapshot });
    } catch {
      return refused("coding_agent_admission_persist_failed");
    }
    this.#launch(start, { snapshot, agent: provider.agent, env });
    return started(snapshot);
  }

  #launch(
    start: CodingStart,
    parts: { readonly snapshot: RunSnapshot; readonly agent: AgentConfig; readonly env: Record<string, string> },
  ): void {
    const view = new RunView(parts.snapshot);
    this.#keep(view);
    const run = new CodingRun({
      start,
      view,
      agent: parts.agent,
      env: parts.env,
      forced: this.#options.config.forcedConfig,
      permissionTimeoutMs: this.#options.config.permissionTimeoutMs,
      journal: this.#journal,
      clock: this.#clock,
      pause: this.#pause,
    });
    this.#live.add(run);
    void run.done.finally(() => this.#live.delete(run));
  }

  #keep(view: RunView): void {
    this.#views.set(view.snapshot.run_id, view);
    for (const [id, one] of this.#views)
      if (this.#views.size > runnerLimits.maxRecords && one.terminal) this.#views.delete(id);
  }

  #projectFits(start: CodingStart): boolean {
    const prefix = `agent:${this.#options.config.clientId}:`;
    if (!start.runtime_project_id.startsWith(prefix)) return false;
    const project = this.#project(start.runtime_project_id.slice(prefix.length));
    if (project === undefined || !project.allow_patch) return false;
    try {
      return realpathSync(start.project_root) === project.root;
    } catch {
      return false; // A root that cannot be resolved is not the one that was meant.
    }
  }

  /** Exactly the mapped variables; null when one of them is missing here. */
  #environmentFor(agent: AgentConfig): Record<string, string> | null {
    const env: Record<string, string> = {};
    for (const [to, from] of Object.entries(agent.env_from_env)) {
      const value = this.#options.environment[from];
      if (value === undefined) return null;
      env[to] = value;
    }
    return env;
  }

  /** Past the barrier the outcome is uncertain; before it nothing was prompted. Either is recorded as the end. */
  #recover(record: RunRecord): void {
    let run = record.run;
    if (!isTerminal(run.state)) {
      const certain = record.dispatch_phase === "before_prompt_barrier";
      const now = Math.floor(this.#clock.wallMs() / 1000);
      run = {
        ...run,
        state: certain ? "failed" : "lost",
        execution_state: certain ? "not_started" : "outcome_unknown",
        observation_revision: run.observation_revision + 1_000_000,
        updated_at: now,
        terminal: {
          stop_reason: null,
          error_code: (certain ? "runner_restart_not_started" : "runner_restart_uncertain") satisfies RunCode,
          message: null,
          completed_at: now,
        },
      };
      this.#journal.write({ schema_version: 1, dispatch_phase: "terminal", run });
    }
    this.#views.set(run.run_id, new RunView(run));
  }
}

function started(run: RunSnapshot): CodingResponse {
  return { dispatch_state: "completed", payload: { kind: "start", run } };
}

function refused(code: RunRefusalCode, dispatch: "not_started" | "outcome_unknown" = "not_started"): CodingResponse {
  return { dispatch_state: dispatch, error: { code, message: code } };
}

/** Connects and serves until `stop` resolves; then drains and leaves. */
export async function runRunner(options: RunnerOptions & { readonly stop: Promise<void> }): Promise<void> {
  const runner = new Runner(options);
  const link = new ServerLink(runner, options.config);
  link.start();
  await options.stop;
  await runner.drain();
  link.close();
}
