// A coding run as server and runner tell each other about it: snapshots, events, the typed operation and its answer.
// Which state may carry which execution state, and which change is legal, is decided here and nowhere else.
import { z } from "./schema.ts";

export const runStates = [
  "starting",
  "running",
  "waiting_permission",
  "completed",
  "failed",
  "cancelled",
  "lost",
] as const;
export type RunState = (typeof runStates)[number];
export type ExecutionState = "not_started" | "outcome_unknown" | "started" | "completed";

const Text = z.string().max(4096);
const Id = z.string().min(1).max(512);

export const Terminal = z.object({
  stop_reason: z.string().max(128).nullish(),
  error_code: z.string().max(128).nullish(),
  message: Text.nullish(),
  completed_at: z.int(),
});
export type RunTerminal = z.infer<typeof Terminal>;

export const RunSnapshot = z.object({
  run_id: Id,
  intent_fingerprint: Id,
  authority_fingerprint: Id,
  runtime_project_id: Id,
  provider_id: Id,
  provider_instance_id: Id,
  state: z.enum(runStates),
  execution_state: z.enum(["not_started", "outcome_unknown", "started", "completed"]),
  observation_revision: z.int().min(1),
  created_at: z.int(),
  updated_at: z.int(),
  terminal: Terminal.nullish(),
});
export type RunSnapshot = z.infer<typeof RunSnapshot>;

export const RunEvent = z.object({
  sequence: z.int().min(1),
  kind: z.string().max(64),
  text: z.string().max(20_000).nullable(),
  label: z.string().max(2000).nullable(),
  status: z.string().max(200).nullable(),
  usage: z.record(z.string(), z.union([z.string(), z.number()])).nullable(),
});
export type RunEvent = z.infer<typeof RunEvent>;

export const ConfigValues = z.record(z.string().min(1).max(128), z.union([z.string(), z.boolean(), z.int()]));

export const CodingRequest = z.discriminatedUnion("operation", [
  z.strictObject({
    operation: z.literal("start"),
    run_id: z.string().min(1).max(96),
    intent_fingerprint: Id,
    authority_fingerprint: Id,
    runtime_project_id: Id,
    project_root: z.string().min(1).max(4096),
    provider_id: z.string().min(1).max(64),
    provider_instance_id: Id,
    instruction: z.string().min(1).max(65_536),
    config: ConfigValues,
    timeout_secs: z.int().min(1).max(3600),
  }),
  z.strictObject({
    operation: z.literal("observe"),
    run_id: z.string().min(1).max(96),
    after_sequence: z.int().min(0).optional(),
    limit: z.int().min(1).max(64),
    wait_secs: z.int().min(0).max(60),
  }),
  z.strictObject({ operation: z.literal("cancel"), run_id: z.string().min(1).max(96) }),
]);
export type CodingRequest = z.infer<typeof CodingRequest>;
export type CodingStart = Extract<CodingRequest, { operation: "start" }>;

export const RunObservation = z.object({
  run: RunSnapshot,
  events: z.array(RunEvent).max(64),
  first_retained_sequence: z.int().min(1),
  next_sequence: z.int().min(1),
  has_more: z.boolean(),
  history_lost: z.boolean(),
});
export type RunObservation = z.infer<typeof RunObservation>;

export const CodingResponse = z.object({
  dispatch_state: z.enum(["not_started", "outcome_unknown", "completed"]),
  payload: z
    .discriminatedUnion("kind", [
      z.object({ kind: z.literal("start"), run: RunSnapshot }),
      z.object({ kind: z.literal("observe"), observation: RunObservation }),
      z.object({ kind: z.literal("cancel"), run: RunSnapshot }),
    ])
    .optional(),
  error: z.object({ code: z.string().max(128), message: z.string().max(1000) }).optional(),
});
export type CodingResponse = z.infer<typeof CodingResponse>;

const legalExecution: Record<RunState, readonly ExecutionState[]> = {
  starting: ["not_started"],
  running: ["outcome_unknown", "started"],
  waiting_permission: ["started"],
  completed: ["completed"],
  failed: ["not_started", "completed"],
  cancelled: ["not_started", "completed"],
  lost: ["outcome_unknown"],
};

/** A state after which nothing more is expected of the run. */
export function isTerminal(state: RunState): boolean {
  return state === "completed" || state === "failed" || state === "cancelled" || state === "lost";
}

/** A terminal state that can never change; `lost` still may. */
export function isDefinitive(state: RunState): boolean {
  return isTerminal(state) && state !== "lost";
}

/** Whether one snapshot is possible at all. */
export function snapshotIsLegal(run: RunSnapshot): boolean {
  if (!legalExecution[run.state].includes(run.execution_state)) return false;
  if (isTerminal(run.state) !== (run.terminal != null)) return false;
  const end = run.terminal;
  if (end == null) return true;
  const stop = end.stop_reason ?? null;
  const error = end.error_code ?? null;
  if (run.state === "completed") return stop === "end_turn" && error === null;
  if (run.state === "lost") return stop === null && error !== null;
  if (run.state === "cancelled")
    return run.execution_state === "completed"
      ? stop === "cancelled"
      : stop === null && error === null && (end.message ?? "") !== "";
  return error !== null && (stop === null || (run.execution_state === "completed" && stop === error));
}

/** Whether an observer may see `to` after `from`; skipped states are legal. */
export function transitionIsLegal(from: RunSnapshot, to: RunSnapshot): boolean {
  if (!snapshotIsLegal(to)) return false;
  if (isDefinitive(from.state)) return false;
  if (from.state === "lost") return isTerminal(to.state);
  if (to.state === "starting") return from.state === "starting";
  if (from.execution_state === "started") return to.execution_state !== "not_started";
  return true;
}
