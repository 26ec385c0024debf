// Sends what is pending, one record after the other, within one budget of time and under the kernel lock. A record
// that cannot be sent (foreign, damaged, refused) is counted and stepped over, never removed and never retargeted.

import { type Clock, systemClock } from "../base/clock.ts";
import { codeOf, Failure } from "../base/failure.ts";
import { type FileLock, tryLock } from "../base/file-lock.ts";
import { isRecord } from "../base/json.ts";
import { type Delivery, weighAnswer } from "./acknowledgement.ts";
import type { HooksCode } from "./codes.ts";
import type { HookConfig } from "./config-file.ts";
import { adapterId, associationOf, isToolLabel, type ObservedEvent, recordName } from "./event.ts";
import { hookLimits } from "./limits.ts";
import { ask } from "./operator-client.ts";
import { listRecords, listRefusals, markRefused, readRecord, removeRecord } from "./outbox.ts";
import { parseExact } from "./python-json.ts";

/** Sends one report; replaced by tests that control the answer. */
export type Sender = (config: HookConfig, event: ObservedEvent, timeoutMs: number) => Promise<Delivery>;

export interface DrainOptions {
  /** Send refused records once more: an operator asked for it. */
  readonly retryRefused: boolean;
  readonly send?: Sender;
  readonly clock?: Clock;
}

export interface DrainResult {
  /** False when another process holds the lock; nothing was looked at then. */
  readonly held: boolean;
  readonly acknowledged: number;
  /** Record name → why it is still there. */
  readonly left: ReadonlyMap<string, HooksCode>;
  /** Record name → the server's word. */
  readonly refused: ReadonlyMap<string, string>;
}

interface Run {
  readonly config: HookConfig;
  readonly endMs: number;
  readonly clock: Clock;
  readonly send: Sender;
  readonly tried: Set<string>;
  readonly left: Map<string, HooksCode>;
  readonly refused: Map<string, string>;
  acknowledged: number;
  stopped: HooksCode | null;
}

/** Delivers until nothing new is found, the budget ends, or the server turns out to be ill. */
export async function drain(config: HookConfig, options: DrainOptions): Promise<DrainResult> {
  const clock = options.clock ?? systemClock;
  const run: Run = {
    config,
    clock,
    endMs: clock.monotonicMs() + hookLimits.drainBudgetMs,
    send: options.send ?? sendOverHttp,
    tried: new Set(),
    left: new Map(),
    refused: new Map(),
    acknowledged: 0,
    stopped: null,
  };
  let lock = takeLock(config.stateDir);
  if (lock === null) return { held: false, acknowledged: 0, left: new Map(), refused: new Map() };
  if (!options.retryRefused) for (const [name, kind] of listRefusals(config.stateDir)) stepOver(run, name, kind);
  while (lock !== null) {
    try {
      await drainHeld(run);
    } finally {
      lock.release();
    }
    // Whoever saved while the lock was held has relied on us: look once more after letting go.
    lock = run.stopped === null && untried(run).length > 0 ? takeLock(config.stateDir) : null;
  }
  return { held: true, acknowledged: run.acknowledged, left: run.left, refused: run.refused };
}

function takeLock(stateDir: string): FileLock | null {
  return tryLock(`${stateDir}/.lock`);
}

function stepOver(run: Run, name: string, kind: string): void {
  run.tried.add(name);
  run.refused.set(name, kind);
}

function untried(run: Run): string[] {
  return listRecords(run.config.stateDir).filter((name) => !run.tried.has(name));
}

async function drainHeld(run: Run): Promise<void> {
  for (let names = untried(run); names.length > 0; names = untried(run)) {
    for (const name of names) {
      run.tried.add(name);
      if (run.stopped === null && run.clock.monotonicMs() >= run.endMs) run.stopped = "pending_delivery_deadline";
      await deliverOne(run, name);
    }
    if (run.stopped !== null) return;
  }
}

async function deliverOne(run: Run, name: string): Promise<void> {
  try {
    const text = readRecord(run.config.stateDir, name);
    if (text === null) return;
    const event = checkRecord(run.config, name, text);
    if (run.stopped !== null) {
      run.left.set(name, run.stopped);
      return;
    }
    const leftMs = run.endMs - run.clock.monotonicMs();
    const delivery = await run.send(run.config, event, Math.min(hookLimits.sendTimeoutMs, leftMs));
    settle(run, name, delivery);
  } catch (error) {
    // A fault of this one record stays with it; codes without a meaning here are an unknown outcome.
    run.left.set(name, error instanceof Failure && recordFaults.has(error.code) ? (error.code as HooksCode) : unknown);
  }
}

const unknown: HooksCode = "recording_unconfirmed_check_pending_state";
const recordFaults = new Set<string>([
  "invalid_pending_file",
  "oversized_pending_file",
  "pending_association_mismatch",
  "invalid_pending_observation",
]);

function settle(run: Run, name: string, delivery: Delivery): void {
  switch (delivery.outcome) {
    case "acknowledged":
      removeRecord(run.config.stateDir, name);
      run.acknowledged += 1;
      return;
    case "refused":
      markRefused(run.config.stateDir, name, delivery.kind);
      run.refused.set(name, delivery.kind);
      return;
    case "unconfirmed":
      run.left.set(name, delivery.code);
      return;
    case "stopped":
      run.stopped = delivery.code;
      run.left.set(name, delivery.code);
      return;
  }
}

/** The report in a record, if it is whole, ours and of this configuration. */
export function checkRecord(config: HookConfig, name: string, text: string): ObservedEvent {
  const record = parseExact(text);
  if (record === undefined) throw new Failure<HooksCode>("invalid_pending_observation");
  const association = associationOf(config);
  const keys = isRecord(record) ? Object.keys(record).sort().join() : "";
  if (!isRecord(record) || keys !== "association,event" || record.association !== association) {
    throw new Failure<HooksCode>("pending_association_mismatch");
  }
  const event = record.event;
  const whole =
    isRecord(event) &&
    Object.keys(event).sort().join() === "adapter_id,event_id,exit_code,observed_tool,project,session_id" &&
    event.project === config.project &&
    event.session_id === config.workflowSessionId &&
    event.adapter_id === adapterId(config.localSessionId) &&
    typeof event.event_id === "string" &&
    /^[0-9a-f]{64}$/.test(event.event_id) &&
    recordName(association, event.event_id) === name &&
    isToolLabel(event.observed_tool) &&
    event.exit_code === null;
  if (!whole) throw new Failure<HooksCode>("invalid_pending_observation");
  return {
    project: config.project,
    session_id: config.workflowSessionId,
    adapter_id: adapterId(config.localSessionId),
    event_id: event.event_id as string,
    observed_tool: event.observed_tool as string,
    exit_code: null,
  };
}

/** The real sender. Whatever goes wrong on the way stops the run: the server is ill, not the record. */
export async function sendOverHttp(config: HookConfig, event: ObservedEvent, timeoutMs: number): Promise<Delivery> {
  try {
    const answer = await ask(config, {
      route: "/api/tools/call",
      body: { tool: "record_external_observation", params: { ...event } },
      timeoutMs,
      tooLarge: "oversized_response",
    });
    return weighAnswer(answer, event);
  } catch (error) {
    const code = codeOf(error);
    const known = [
      "oversized_response",
      "invalid_authorization_file",
      "input_too_large",
      "private_regular_file_required",
    ];
    return { outcome: "stopped", code: known.includes(code) ? (code as HooksCode) : unknown };
  }
}
