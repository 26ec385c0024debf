// What observers see of one run: a snapshot with a revision, the last 256 events, and who waits for the next one.
import { utf8 } from "../base/bytes.ts";
import type { UpdateEvent } from "../contract/acp.ts";
import {
  type ExecutionState,
  isTerminal,
  type RunEvent,
  type RunObservation,
  type RunSnapshot,
  type RunState,
  type RunTerminal,
} from "../contract/runs.ts";
import { runnerLimits } from "./limits.ts";

export class RunView {
  #snapshot: RunSnapshot;
  #events: RunEvent[] = [];
  #nextSequence = 1;
  readonly #waiters = new Set<() => void>();

  constructor(snapshot: RunSnapshot) {
    this.#snapshot = snapshot;
  }

  get snapshot(): RunSnapshot {
    return this.#snapshot;
  }

  get terminal(): boolean {
    return isTerminal(this.#snapshot.state);
  }

  /** The snapshot this change would give; nobody sees it until `publish`. */
  next(
    change: { readonly state: RunState; readonly execution: ExecutionState; readonly terminal?: RunTerminal },
    wallMs: number,
  ): RunSnapshot {
    return {
      ...this.#snapshot,
      state: change.state,
      execution_state: change.execution,
      observation_revision: this.#snapshot.observation_revision + (change.terminal === undefined ? 1 : 2),
      updated_at: Math.floor(wallMs / 1000),
      ...(change.terminal === undefined ? {} : { terminal: change.terminal }),
    };
  }

  publish(snapshot: RunSnapshot): void {
    this.#snapshot = snapshot;
    const end = snapshot.terminal;
    if (end == null) return;
    const label = end.stop_reason ?? end.error_code ?? undefined;
    this.#push({ kind: "terminal", status: snapshot.state, ...(label === undefined ? {} : { label }) });
    this.#wake();
  }

  append(event: UpdateEvent): void {
    this.#snapshot = { ...this.#snapshot, observation_revision: this.#snapshot.observation_revision + 1 };
    this.#push(event);
    this.#wake();
  }

  observe(after: number | undefined, limit: number): RunObservation {
    const first = this.#events[0]?.sequence ?? this.#nextSequence;
    const lost = after !== undefined && after + 1 < first;
    const wanted = this.#events.filter((event) => event.sequence > (after ?? 0));
    const events = wanted.slice(0, limit);
    return {
      run: this.#snapshot,
      events,
      first_retained_sequence: first,
      next_sequence: this.#nextSequence,
      has_more: wanted.length > events.length,
      history_lost: lost,
    };
  }

  /** Resolves when there is an event after the cursor, the run is over, or the time is up. */
  wait(after: number | undefined, waitMs: number): Promise<void> {
    const ready = () => this.terminal || this.#nextSequence - 1 > (after ?? 0);
    if (waitMs <= 0 || ready()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve();
      };
      const check = () => {
        if (ready()) finish();
      };
      const timer = setTimeout(finish, waitMs);
      this.#waiters.add(check);
    });
  }

  #push(event: UpdateEvent): void {
    this.#events.push({
      sequence: this.#nextSequence++,
      kind: event.kind,
      text: event.text === undefined ? null : cutText(event.text),
      label: event.label === undefined ? null : event.label.slice(0, runnerLimits.maxLabelChars),
      status: event.status === undefined ? null : event.status.slice(0, 128),
      usage: event.usage ?? null,
    });
    if (this.#events.length > runnerLimits.maxEvents) this.#events.shift();
  }

  #wake(): void {
    for (const check of [...this.#waiters]) check();
  }
}

/** At most 16 KiB of UTF-8, cut between characters. */
export function cutText(text: string): string {
  const bytes = utf8(text);
  if (bytes.length <= runnerLimits.maxEventTextBytes) return text;
  let end = runnerLimits.maxEventTextBytes - 3;
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1;
  return `${new TextDecoder().decode(bytes.subarray(0, end))}…`;
}
