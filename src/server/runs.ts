// The runs this process has heard of: merged from what runners registered and answered, never guessed. A snapshot
// with a lower revision is ignored, an equal one must be identical, a higher one must be a legal continuation.

import { toBase64Url } from "../base/bytes.ts";
import { canonicalJson } from "../base/json.ts";
import type { RandomBytes } from "../base/random.ts";
import { isTerminal, type RunSnapshot, snapshotIsLegal, transitionIsLegal } from "../contract/runs.ts";
import type { RunnerRegistry } from "./runner-registry.ts";

export interface LiveRun {
  readonly clientId: string;
  readonly instanceId: string;
  readonly snapshot: RunSnapshot;
}

const maxTerminalRuns = 128;
const terminalKeptMs = 15 * 60_000;

export class LiveRuns {
  readonly #runs = new Map<string, LiveRun>();
  /** Tokens of an earlier process are recognised by another epoch. */
  readonly epoch: Uint8Array;

  constructor(random: RandomBytes) {
    this.epoch = random(12);
  }

  get(runId: string): LiveRun | undefined {
    return this.#runs.get(runId);
  }

  all(): readonly LiveRun[] {
    return [...this.#runs.values()];
  }

  merge(
    snapshot: RunSnapshot,
    from: { readonly clientId: string; readonly instanceId: string },
  ): "merged" | "ignored" | "conflict" {
    if (!snapshotIsLegal(snapshot)) return "conflict";
    const known = this.#runs.get(snapshot.run_id);
    if (known !== undefined) {
      if (!sameRun(known.snapshot, snapshot)) return "conflict";
      const { observation_revision: old } = known.snapshot;
      if (snapshot.observation_revision < old) return "ignored";
      if (snapshot.observation_revision === old)
        return canonicalJson(known.snapshot) === canonicalJson(snapshot) ? "ignored" : "conflict";
      if (!transitionIsLegal(known.snapshot, snapshot)) return "conflict";
    }
    this.#runs.set(snapshot.run_id, { ...from, snapshot });
    this.#forgetOld(snapshot.updated_at * 1000);
    return "merged";
  }

  /** Another process answers for this client now: what it does not know of is uncertain. */
  replaced(by: { readonly clientId: string; readonly instanceId: string }, wallMs: number): void {
    const now = Math.floor(wallMs / 1000);
    for (const [id, run] of this.#runs) {
      if (run.clientId !== by.clientId || run.instanceId === by.instanceId || isTerminal(run.snapshot.state)) continue;
      const before = run.snapshot.execution_state === "not_started";
      this.#runs.set(id, {
        ...run,
        snapshot: {
          ...run.snapshot,
          state: before ? "failed" : "lost",
          execution_state: before ? "not_started" : "outcome_unknown",
          updated_at: now,
          observation_revision: run.snapshot.observation_revision + 1,
          terminal: { stop_reason: null, error_code: "runner_replaced_uncertain", message: null, completed_at: now },
        },
      });
    }
  }

  #forgetOld(wallMs: number): void {
    const ended = [...this.#runs].filter(([, run]) => isTerminal(run.snapshot.state));
    for (const [index, [id, run]] of ended.entries())
      if (ended.length - index > maxTerminalRuns || run.snapshot.updated_at * 1000 + terminalKeptMs < wallMs)
        this.#runs.delete(id);
  }
}

function sameRun(left: RunSnapshot, right: RunSnapshot): boolean {
  return (
    left.intent_fingerprint === right.intent_fingerprint &&
    left.authority_fingerprint === right.authority_fingerprint &&
    left.runtime_project_id === right.runtime_project_id &&
    left.provider_id === right.provider_id &&
    left.provider_instance_id === right.provider_instance_id &&
    left.created_at === right.created_at
  );
}

const byRegistry = new WeakMap<RunnerRegistry, LiveRuns>();

/** The runs that belong to a link; one without runners has none. */
export function liveRunsOf(registry: RunnerRegistry): LiveRuns {
  const runs = byRegistry.get(registry) ?? new LiveRuns((n) => crypto.getRandomValues(new Uint8Array(n)));
  byRegistry.set(registry, runs);
  return runs;
}

/** The run's id: one per authority and key, so that a repeated start names the same run. */
export function runIdOf(stable: string, key: string): string {
  const digest = new Bun.CryptoHasher("sha256").update(`webcodex-coding-agent-run-v1\0${stable}\0${key}`).digest();
  return `wc_agent_run_${toBase64Url(new Uint8Array(digest))}`;
}
