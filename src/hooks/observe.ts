// Saves one tool call's report first, then delivers what is pending. Says truthfully which of both happened:
// recorded, saved, ignored or incomplete. It never prints; it never changes what the host or the tool does.
import { codeOf } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";
import { type HookConfig, loadConfig } from "./config-file.ts";
import type { DrainOptions, DrainResult, Sender } from "./delivery.ts";
import { associationOf, eventOf, recordName, recordText } from "./event.ts";
import { type HookInput, parsePayload } from "./hook-input.ts";
import { noteInLedger } from "./ledger.ts";
import { requireStateFolder } from "./operator-files.ts";
import { saveRecord } from "./outbox.ts";

export interface ObserveOptions {
  readonly configPath: string;
  readonly deliver: "inline" | "background";
  readonly send?: Sender;
  /** Starts a detached flush; given by the door when `deliver` is background. */
  readonly startFlush?: () => void;
  readonly wallMs?: () => number;
}

/** What is still in the outbox, and why. Names of kinds, never of files. */
export interface LeftCounts {
  readonly pending: number;
  readonly foreign: number;
  readonly corrupt: number;
  readonly refused: number;
}

export interface ObserveResult {
  readonly status: "recorded" | "saved" | "ignored" | "incomplete";
  readonly acknowledged?: number;
  readonly reason?: HooksCode;
  /** The server's fixed word for a refusal. */
  readonly error_kind?: string;
  /** True when the event of this run is on disk although the run is incomplete. */
  readonly saved?: boolean;
  readonly left?: LeftCounts;
}

const generic: HooksCode = "recording_unconfirmed_check_pending_state";

/** The hook: one payload. `input` is read by the door before anything can end the run. */
export async function observe(input: HookInput, options: ObserveOptions): Promise<ObserveResult> {
  let config: HookConfig;
  try {
    config = loadConfig(options.configPath);
  } catch (error) {
    return { status: "incomplete", reason: await reasonOf(error) };
  }
  const result = await observeWith(config, input, options);
  note(config, "observe", result, options);
  return result;
}

async function observeWith(config: HookConfig, input: HookInput, options: ObserveOptions): Promise<ObserveResult> {
  let name: string | null;
  try {
    name = save(config, input);
  } catch (error) {
    const reason = await reasonOf(error);
    // What was saved earlier need not wait for a payload that will never fit or an outbox that has to shrink.
    const drains = reason === "input_too_large" || reason === "pending_capacity_event_not_saved";
    if (drains || reason === "pending_event_conflict") await deliverQuietly(config, options);
    return { status: "incomplete", reason };
  }
  if (name === null) return { status: "ignored" };
  if (options.deliver === "background") {
    options.startFlush?.();
    return { status: "saved" };
  }
  try {
    return afterDrain(name, await drain(config, drainOptions(options, false)));
  } catch (error) {
    return { status: "incomplete", reason: await reasonOf(error), saved: true };
  }
}

/** The name of the saved record; null when the payload is of another event. */
function save(config: HookConfig, input: HookInput): string | null {
  const event = eventOf(parsePayload(input, "input_too_large"), config);
  if (event === null) return null;
  requireStateFolder(config.stateDir);
  const association = associationOf(config);
  const name = recordName(association, event.event_id);
  saveRecord(config.stateDir, name, recordText(association, event));
  return name;
}

async function deliverQuietly(config: HookConfig, options: ObserveOptions): Promise<void> {
  if (options.deliver === "background") {
    options.startFlush?.();
    return;
  }
  try {
    await drain(config, drainOptions(options, false));
  } catch {
    // The run is incomplete for a reason of its own already, and nothing was lost by not delivering.
  }
}

function afterDrain(name: string, result: DrainResult): ObserveResult {
  if (!result.held) return { status: "saved" };
  const left = countLeft(result);
  const acknowledged = result.acknowledged;
  const refusal = result.refused.get(name);
  if (refusal !== undefined) {
    return { status: "incomplete", reason: "recording_refused", error_kind: refusal, saved: true, left };
  }
  const own = result.left.get(name);
  if (own !== undefined) return { status: "incomplete", reason: own, saved: true, left };
  return { status: "recorded", acknowledged, ...(isEmpty(left) ? {} : { left }) };
}

/** Delivers on demand, reading no payload. Complete only when nothing is left. */
export async function flush(options: ObserveOptions): Promise<ObserveResult> {
  let config: HookConfig;
  try {
    config = loadConfig(options.configPath);
  } catch (error) {
    return { status: "incomplete", reason: await reasonOf(error) };
  }
  const result = await flushWith(config, options);
  note(config, "flush", result, options);
  return result;
}

async function flushWith(config: HookConfig, options: ObserveOptions): Promise<ObserveResult> {
  try {
    requireStateFolder(config.stateDir);
    const result = await drain(config, drainOptions(options, options.deliver === "inline"));
    if (!result.held) return { status: "incomplete", reason: "adapter_busy_event_not_saved" };
    const left = countLeft(result);
    const acknowledged = result.acknowledged;
    if (isEmpty(left)) return { status: "recorded", acknowledged };
    const [first] = result.left.values();
    const [kind] = result.refused.values();
    if (first !== undefined) return { status: "incomplete", reason: first, acknowledged, left };
    return { status: "incomplete", reason: "recording_refused", error_kind: kind ?? "unknown", acknowledged, left };
  } catch (error) {
    return { status: "incomplete", reason: await reasonOf(error) };
  }
}

/** Loaded when something is really sent: a hook that only saves pays for neither lock nor network. */
async function drain(config: HookConfig, options: DrainOptions): Promise<DrainResult> {
  return await (await import("./delivery.ts")).drain(config, options);
}

function drainOptions(options: ObserveOptions, retryRefused: boolean): DrainOptions {
  return { retryRefused, ...(options.send === undefined ? {} : { send: options.send }) };
}

/** Counts by kind of what a drain left behind. */
export function countLeft(result: Pick<DrainResult, "left" | "refused">): LeftCounts {
  let [pending, foreign, corrupt] = [0, 0, 0];
  for (const code of result.left.values()) {
    if (code === "pending_association_mismatch") foreign += 1;
    else if (corruptCodes.has(code)) corrupt += 1;
    else pending += 1;
  }
  return { pending, foreign, corrupt, refused: result.refused.size };
}

const corruptCodes = new Set<HooksCode>([
  "invalid_pending_file",
  "oversized_pending_file",
  "invalid_pending_observation",
]);

function isEmpty(left: LeftCounts): boolean {
  return left.pending + left.foreign + left.corrupt + left.refused === 0;
}

/** The sentences are loaded for a refusal only: a save that succeeds does not pay for them. */
async function reasonOf(error: unknown): Promise<HooksCode> {
  const { hooksCodes } = await import("./codes.ts");
  const code = codeOf(error);
  return Object.hasOwn(hooksCodes, code) ? (code as HooksCode) : generic;
}

function note(config: HookConfig, hook: "observe" | "flush", result: ObserveResult, options: ObserveOptions): void {
  noteInLedger(config.stateDir, {
    at: (options.wallMs ?? Date.now)(),
    hook,
    status: result.status,
    ...(result.reason === undefined ? {} : { reason: result.reason }),
    ...(result.acknowledged === undefined ? {} : { acknowledged: result.acknowledged }),
  });
}
