// The goal context beside a handoff: every key, type, bound and count is checked, and one fault refuses it whole.
import { utf8 } from "../base/bytes.ts";
import { isRecord } from "../base/json.ts";

type Check = (value: unknown) => boolean;

/** True for a goal context that may be shown. */
export function isGoalContext(value: unknown): boolean {
  if (!hasExactly(value, ["version", "source", "status", "reason_code", "truncated", "goal", "candidates"]))
    return false;
  const { version, source, status, reason_code: reason, truncated, goal, candidates } = value;
  if (version !== 1 || source !== "explicit_workflow_session_correlation" || !isBoolean(truncated)) return false;
  if (!isListOf(candidates, 8, isCandidate)) return false;
  if (status === "available") {
    return reason === null && truncated === false && isGoalDetail(goal) && candidates.length === 0;
  }
  if (status === "selection_required") {
    const ids = new Set(candidates.map((one) => (one as Record<string, unknown>).goal_id));
    return reason === "multiple_active_goals" && goal === null && ids.size >= 2 && ids.size === candidates.length;
  }
  return (
    status === "unavailable" &&
    reason === "store_unavailable" &&
    truncated === false &&
    goal === null &&
    candidates.length === 0
  );
}

const candidateKeys = ["goal_id", "title", "title_truncated", "lifecycle", "revision"];

function isCandidate(value: unknown): boolean {
  return hasExactly(value, candidateKeys) && hasCandidateValues(value);
}

function hasCandidateValues(value: Record<string, unknown>): boolean {
  return (
    isText(value.goal_id, 128) &&
    isText(value.title, 256) &&
    isBoolean(value.title_truncated) &&
    value.lifecycle === "active" &&
    isWhole(value.revision) &&
    value.revision >= 1
  );
}

function isGoalDetail(value: unknown): boolean {
  return (
    hasExactly(value, [...candidateKeys, "objective", "plan"]) &&
    hasCandidateValues(value) &&
    isExcerpt(value.objective, 1024) &&
    isPlan(value.plan)
  );
}

function isPlan(value: unknown): boolean {
  if (!hasExactly(value, ["completion_conditions", "steps", "current_step_id", "checkpoint"])) return false;
  const { completion_conditions: conditions, steps, current_step_id: current, checkpoint } = value;
  const counted = ["items", "total", "returned", "truncated"];
  return (
    hasExactly(conditions, [...counted, "content_truncated"]) &&
    isBoolean(conditions.content_truncated) &&
    isCounted(conditions, 8, (item) => isText(item, 256)) &&
    hasExactly(steps, counted) &&
    isCounted(steps, 32, isStep) &&
    (current === null || isText(current, 32)) &&
    isCheckpoint(checkpoint)
  );
}

function isStep(value: unknown): boolean {
  return (
    hasExactly(value, ["id", "title", "title_truncated", "status"]) &&
    isText(value.id, 32) &&
    isText(value.title, 128) &&
    isBoolean(value.title_truncated) &&
    ["pending", "in_progress", "completed"].includes(value.status as string)
  );
}

function isCheckpoint(value: unknown): boolean {
  if (!hasExactly(value, ["summary", "at_unix_ms"])) return false;
  const { summary, at_unix_ms: at } = value;
  if (at !== null && !isWhole(at)) return false;
  if (!hasExactly(summary, ["excerpt", "truncated"]) || !isBoolean(summary.truncated)) return false;
  return summary.excerpt === null || isText(summary.excerpt, 512);
}

/** A bounded list that says truthfully how much of the whole it is. */
function isCounted(block: Record<string, unknown>, max: number, check: Check): boolean {
  const { items, total, returned, truncated } = block;
  if (!isListOf(items, max, check) || !isWhole(total) || !isWhole(returned) || total < 0) return false;
  return returned === items.length && returned <= total && truncated === returned < total;
}

function isExcerpt(value: unknown, maxBytes: number): boolean {
  return hasExactly(value, ["excerpt", "truncated"]) && isText(value.excerpt, maxBytes) && isBoolean(value.truncated);
}

/** A record with these keys and no other. */
export function hasExactly(value: unknown, keys: readonly string[]): value is Record<string, unknown> {
  return isRecord(value) && Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key));
}

export function isListOf(value: unknown, max: number, check: Check): value is unknown[] {
  return Array.isArray(value) && value.length <= max && value.every(check);
}

/** Text within a bound of UTF-8 bytes and without control characters. */
export function isText(value: unknown, maxBytes: number): value is string {
  return typeof value === "string" && value.isWellFormed() && !/\p{Cc}/u.test(value) && utf8(value).length <= maxBytes;
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isWhole(value: unknown): value is number {
  return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
}
