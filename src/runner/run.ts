// One coding run: one agent process, at most one prompt. Before the prompt's first byte leaves, the journal says that
// it may have been sent; observers see the run start only when it has. Every end is recorded before it is shown.

import type { Clock } from "../base/clock.ts";
import { Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import type { Pause } from "../base/pause-point.ts";
import { type ProcessGroup, startGroup } from "../base/process-group.ts";
import { type ConfigValue, readUpdate } from "../contract/acp.ts";
import { type CodingStart, isTerminal, type RunState, type RunTerminal } from "../contract/runs.ts";
import { AcpClient, type Answer } from "./acp-client.ts";
import type { RunCode, SetupStage } from "./codes.ts";
import type { AgentConfig } from "./config-file.ts";
import { runnerLimits } from "./limits.ts";
import { cancelledOutcome, PendingPermissions, readPermission } from "./permissions.ts";
import type { RunJournal, RunRecord } from "./run-journal.ts";
import { setUpSession } from "./run-setup.ts";
import type { RunView } from "./run-view.ts";

export interface RunParts {
  readonly start: CodingStart;
  readonly view: RunView;
  readonly agent: AgentConfig;
  readonly env: Readonly<Record<string, string>>;
  readonly forced: Readonly<Record<string, ConfigValue>>;
  readonly permissionTimeoutMs: number;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly pause: Pause;
}

type Stop = "cancel" | "deadline" | "shutdown";
type End = { readonly state: RunState; readonly stop?: string; readonly error?: RunCode; readonly message?: string };

export class CodingRun {
  readonly view: RunView;
  readonly #parts: RunParts;
  readonly #permissions = new PendingPermissions();
  #group: ProcessGroup | undefined;
  #client: AcpClient | undefined;
  #sessionId = "";
  /** Set with the barrier: from here on only the agent's own answer is certain. */
  #prompted = false;
  #stop: Stop | null = null;
  #ended = false;
  #interrupt: (error: Failure) => void = () => undefined;
  readonly #interrupted: Promise<never>;
  /** Resolves when the run is over and its processes are gone. */
  readonly done: Promise<void>;

  constructor(parts: RunParts) {
    this.view = parts.view;
    this.#parts = parts;
    this.#interrupted = new Promise<never>((_, reject) => {
      this.#interrupt = reject;
    });
    this.#interrupted.catch(() => undefined); // Heard by whoever waits in the set-up; afterwards by nobody.
    this.done = this.#drive();
  }

  /** Asks the run to end; before the prompt it ends at once, afterwards the agent gets its grace. */
  stop(why: Stop): void {
    if (this.#ended || this.#stop !== null) return;
    this.#stop = why;
    if (!this.#prompted) {
      const message = why === "shutdown" ? "The runner stopped before the prompt." : "Cancelled before the prompt.";
      if (why === "deadline") this.#finish({ state: "failed", error: "coding_agent_setup_timeout" });
      else this.#finish({ state: "cancelled", message });
      this.#interrupt(new Failure<RunCode>("run_stopped"));
      return;
    }
    void this.#cancelTurn();
  }

  async #drive(): Promise<void> {
    const deadline = setTimeout(() => this.stop("deadline"), this.#parts.start.timeout_secs * 1000);
    let settle: () => void = () => undefined;
    const over = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#settled = settle;
    try {
      await this.#begin();
    } catch (error) {
      const code = error instanceof Failure ? (error as Failure<RunCode>).code : "coding_agent_setup_failed";
      this.#finish({ state: "failed", error: code });
    }
    await over;
    clearTimeout(deadline);
    await this.#parts.pause("after_terminal");
    await this.#clean();
  }

  #settled: () => void = () => undefined;

  async #begin(): Promise<void> {
    const { start, agent, env, forced } = this.#parts;
    this.#group = this.#spawn(agent, env);
    this.#client = new AcpClient(this.#group, {
      notification: (method, params) => this.#notified(method, params),
      request: (id, method, params) => this.#asked(id, method, params),
      lost: (code) => this.#lost(code),
    });
    this.#sessionId = await setUpSession((method, params, stage) => this.#ask(method, params, stage), {
      cwd: start.project_root,
      forced,
      wanted: start.config,
      allowed: agent.allowed_config_options,
    });
    if (this.#ended) return;
    try {
      // The barrier: durable first. In memory nothing changes until the frame has left.
      const running = this.view.next({ state: "running", execution: "outcome_unknown" }, this.#parts.clock.wallMs());
      this.#prompted = true;
      this.#record(running, "prompt_dispatch_may_have_occurred");
    } catch {
      this.#prompted = false;
      throw new Failure<RunCode>("coding_agent_dispatch_barrier_failed");
    }
    const params = { sessionId: this.#sessionId, prompt: [{ type: "text", text: start.instruction }] };
    const left = await this.#client.request("session/prompt", params, (answer) => void this.#answered(answer));
    if (this.#ended) return;
    if (!left) return this.#finish({ state: "lost", error: "coding_agent_prompt_write_uncertain" });
    this.#show("running");
    await this.#parts.pause("after_prompt_barrier");
  }

  #spawn(agent: AgentConfig, env: Readonly<Record<string, string>>): ProcessGroup {
    try {
      return startGroup({
        command: agent.executable,
        args: agent.args,
        cwd: this.#parts.start.project_root,
        env,
        stdin: "pipe",
        stdout: "pipe",
        stderr: "ignore",
      });
    } catch (cause) {
      throw new Failure<RunCode>("coding_agent_spawn_failed", { cause });
    }
  }

  async #ask(method: string, params: unknown, stage: SetupStage): Promise<unknown> {
    const answer = new Promise<Answer>((resolve) => {
      void this.#client!.request(method, params, resolve).then((left) => {
        if (!left) this.#interrupt(new Failure<RunCode>(`${stage}_write_failed`));
      });
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Failure<RunCode>("coding_agent_setup_timeout")), runnerLimits.setupStepMs);
    });
    this.#stage = stage;
    try {
      const got = await Promise.race([answer, late, this.#interrupted]);
      if (!got.ok || got.result === undefined) throw new Failure<RunCode>(`${stage}_failed`);
      return got.result;
    } finally {
      clearTimeout(timer);
    }
  }

  #stage: SetupStage = "coding_agent_initialize";

  #notified(method: string, params: unknown): void {
    if (method !== "session/update" || this.#ended) return;
    const event = readUpdate(params);
    if (event !== null) this.view.append(event);
  }

  #asked(id: unknown, method: string, params: unknown): void {
    if (method !== "session/request_permission") {
      void this.#client!.respond(id, { error: { code: -32601, message: "Method not found" } });
      if (this.#prompted && !this.#ended) void this.#cancelTurn();
      return;
    }
    const event = readPermission(params);
    if (event === null) {
      void this.#client!.respond(id, { error: { code: -32602, message: "Invalid params" } });
      if (this.#prompted) this.#finish({ state: "lost", error: "coding_agent_permission_invalid" });
      return;
    }
    if (this.#ended || !this.#prompted || this.#stop !== null) {
      void this.#client!.respond(id, { result: cancelledOutcome });
      return;
    }
    this.view.append(event);
    this.#show("waiting_permission");
    this.#permissions.add(this.#parts.permissionTimeoutMs, () => {
      void this.#client!.respond(id, { result: cancelledOutcome }).then((left) => {
        if (!left) this.#finish({ state: "lost", error: "coding_agent_permission_response_uncertain" });
        else if (this.#permissions.count === 0) this.#show("running");
      });
    });
  }

  #lost(code: "coding_agent_process_exited" | "coding_agent_transport_lost"): void {
    if (this.#prompted) this.#finish({ state: "lost", error: code });
    else this.#interrupt(new Failure<RunCode>(`${this.#stage}_failed`));
  }

  async #answered(answer: Answer): Promise<void> {
    if (this.#ended || this.#answer) return;
    this.#answer = true;
    await this.#parts.pause("before_terminal");
    this.#finish(endOf(answer));
  }

  #answer = false;

  /** One `session/cancel`, then a bounded wait for the prompt's own answer. */
  async #cancelTurn(): Promise<void> {
    if (this.#cancelling) return;
    this.#cancelling = true;
    this.#permissions.cancelAll();
    const left = await this.#client!.notify("session/cancel", { sessionId: this.#sessionId });
    if (!left) return this.#finish({ state: "lost", error: "coding_agent_cancel_write_uncertain" });
    const timer = setTimeout(() => {
      this.#finish({ state: "lost", error: "coding_agent_cancel_terminal_missing" });
    }, runnerLimits.cancelGraceMs);
    this.#grace = timer;
  }

  #cancelling = false;
  #grace: ReturnType<typeof setTimeout> | undefined;

  #show(state: "running" | "waiting_permission"): void {
    if (this.#ended) return;
    this.view.publish(this.view.next({ state, execution: "started" }, this.#parts.clock.wallMs()));
  }

  #finish(end: End): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#grace);
    this.#permissions.cancelAll();
    const wallMs = this.#parts.clock.wallMs();
    const terminal: RunTerminal = {
      stop_reason: end.stop ?? null,
      error_code: end.error ?? null,
      message: end.message ?? null,
      completed_at: Math.floor(wallMs / 1000),
    };
    const execution = end.state === "lost" ? "outcome_unknown" : this.#prompted ? "completed" : "not_started";
    let last = this.view.next({ state: end.state, execution, terminal }, wallMs);
    try {
      this.#record(last, "terminal");
    } catch {
      const unwritten = { ...terminal, stop_reason: null, error_code: "coding_agent_terminal_persistence_uncertain" };
      last = this.#prompted
        ? { ...last, state: "lost", execution_state: "outcome_unknown", terminal: unwritten }
        : { ...last, state: "failed", execution_state: "not_started", terminal: unwritten };
    }
    this.view.publish(last);
    this.#settled();
  }

  #record(run: RunRecord["run"], phase: RunRecord["dispatch_phase"]): void {
    this.#parts.journal.write({ schema_version: 1, dispatch_phase: phase, run });
  }

  /** After an answer the agent may leave by itself; in every other case its group is ended at once. */
  async #clean(): Promise<void> {
    if (this.#group === undefined) return;
    await this.#client?.end();
    const state = this.view.snapshot.state;
    if (isTerminal(state) && state !== "lost" && this.#prompted)
      await Promise.race([this.#group.exited, this.#parts.clock.sleep(runnerLimits.leaderExitMs)]);
    await this.#group.stop({ firstSignal: "SIGKILL", termMs: runnerLimits.killMs, killMs: runnerLimits.killMs });
  }
}

/** What the prompt's own answer says about the run. */
export function endOf(answer: Answer): End {
  if (!answer.ok) return { state: "failed", error: "prompt_error" };
  if (!isRecord(answer.result) || typeof answer.result.stopReason !== "string")
    return { state: "failed", error: "invalid_prompt_response" };
  const stop = answer.result.stopReason;
  switch (stop) {
    case "end_turn":
      return { state: "completed", stop };
    case "cancelled":
      return { state: "cancelled", stop };
    case "max_tokens":
    case "max_turn_requests":
    case "refusal":
      return { state: "failed", stop, error: stop };
    default:
      return { state: "failed", error: "unknown_stop_reason" };
  }
}
