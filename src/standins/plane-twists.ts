// The one thing each misbehaving control plane changes: an answer instead of the server's, or a change of its result.
import { sha256Hex } from "../base/bytes.ts";
import { isRecord } from "../base/json.ts";
import { type Call, otherId } from "./plane-call.ts";
import type { PlaneMisbehaviour } from "./plane-misbehaviours.ts";

type Output = Record<string, unknown>;

export interface PlaneMoment {
  /** This is not the first start on these data. */
  readonly restarted: boolean;
  /** How often this tool was called since the start, this call included. */
  readonly nth: number;
  /** The plane's own credential, for the one that prints it. */
  readonly secret: string;
}

export interface PlaneTwist {
  readonly applies: (call: Call, moment: PlaneMoment) => boolean;
  readonly result?: (result: Output, output: Output, moment: PlaneMoment) => void;
  readonly instead?: "html" | "half" | "too_much" | "never" | "exit";
}

const observed = (call: Call) => call.tool === "observe_coding_agent";
const started = (call: Call) => call.tool === "start_agent_task_coding_run";
const reconciled = (call: Call) => call.tool === "reconcile_agent_task_coding_run";
const afterRestart = (is: (call: Call) => boolean) => (call: Call, moment: PlaneMoment) => moment.restarted && is(call);
const tool = (name: string) => (call: Call) => call.tool === name;

/** The twists of a name, one after another; empty for the honest and for those that act elsewhere. */
export function planeTwists(name: PlaneMisbehaviour | "honest"): readonly PlaneTwist[] {
  const found = (twists as Partial<Record<string, PlaneTwist | readonly PlaneTwist[]>>)[name];
  return found === undefined ? [] : Array.isArray(found) ? found : [found as PlaneTwist];
}

const twists: Partial<Record<PlaneMisbehaviour, PlaneTwist | readonly PlaneTwist[]>> = {
  "ends-the-run-too-soon": {
    applies: (call, moment) => !moment.restarted && observed(call),
    result: (_, output) => completed(output),
  },
  "loses-history": {
    applies: afterRestart(observed),
    result: (_, output) => {
      output.history_lost = true;
    },
  },
  "changes-task-id": { applies: afterRestart(tool("read_agent_task")), result: (_, output) => changeTaskId(output) },
  "changes-attempt-id": { applies: afterRestart(reconciled), result: (_, output) => swap(output, "attempt_id") },
  "changes-run-id": { applies: afterRestart(reconciled), result: (_, output) => swap(output, "run_id") },
  "changes-run-id-at-the-end": {
    applies: (call, moment) => moment.restarted && reconciled(call) && moment.nth > 1,
    result: (_, output) => swap(output, "run_id"),
  },
  "forgets-task-after-restart": {
    applies: afterRestart(tool("read_agent_task")),
    result: (result) => refuse(result, "agent_task_not_found"),
  },
  "forgets-binding-after-restart": {
    applies: afterRestart(reconciled),
    result: (result) => refuse(result, "agent_task_coding_run_not_found"),
  },
  "dies-after-restart": { applies: afterRestart(observed), instead: "exit" },
  "new-run-on-replay": {
    applies: (call, moment) => started(call) && moment.nth > 1,
    result: (_, output) => swap(output, "run_id"),
  },
  "refuses-the-start": { applies: started, result: (result) => refuse(result, "coding_agent_capacity_full") },
  "binds-no-run": {
    applies: started,
    result: (_, output) => {
      delete output.run_id;
    },
  },
  "wrong-run-observed": { applies: observed, result: (_, output) => swap(output, "run_id") },
  "running-without-execution": { applies: observed, result: (_, output) => stillRunning(output) },
  "unknown-state": {
    applies: observed,
    result: (_, output) => {
      output.state = "thinking";
    },
  },
  "no-token": {
    applies: observed,
    result: (_, output) => {
      stillRunning(output);
      delete output.observation_token;
    },
  },
  "says-completed": [
    { applies: afterRestart(observed), result: (_, output) => completed(output) },
    {
      applies: afterRestart(reconciled),
      result: (_, output) => {
        delete output.task_state;
        delete output.attempt_state;
      },
    },
  ],
  "answers-html": { applies: tool("create_agent_task"), instead: "html" },
  "answers-half": { applies: tool("create_agent_task"), instead: "half" },
  "answers-too-much": { applies: tool("create_agent_task"), instead: "too_much" },
  "answers-slowly": { applies: tool("create_agent_task"), instead: "never" },
  "inventory-without-list": {
    applies: tool("list_goals"),
    result: (_, output) => {
      delete output.goals;
    },
  },
  "no-receipts": {
    applies: tool("list_tool_receipts"),
    result: (_, output) => {
      output.receipts = [];
    },
  },
  "wrong-receipts": {
    applies: tool("list_tool_receipts"),
    result: (_, output) => eachReceipt(output, (row) => ({ ...row, text_sha256: sha256Hex("other bytes") })),
  },
  "serves-other-bytes": [
    { applies: (call) => call.tool === "read_files", result: (_, output) => eachText(output, altered) },
    {
      applies: tool("list_tool_receipts"),
      result: (_, output) => eachReceipt(output, (row) => ({ ...row, text_sha256: served.get(String(row.path)) })),
    },
  ],
  "prints-secret": {
    applies: tool("create_agent_identity"),
    result: (_, output, moment) => {
      output.note = moment.secret;
    },
  },
  "honest-odd-answers": {
    applies: () => true,
    result: (result, output) => {
      result.of_tomorrow = { anything: [null, "one\u2028two"] };
      output.of_tomorrow = "three\u2029four\u0085five";
    },
  },
};

/** Digests of the texts that were served altered, by path. */
const served = new Map<string, string>();

function altered(path: string, text: string): string {
  const other = `${text.slice(0, -2)}X\n`;
  served.set(path, sha256Hex(other));
  return other;
}

function eachText(output: Output, change: (path: string, text: string) => string): void {
  for (const item of Array.isArray(output.items) ? output.items : []) {
    const file = isRecord(item) && isRecord(item.output) ? item.output : {};
    if (typeof file.text === "string") file.text = change(String((item as Output).path), file.text);
  }
}

function eachReceipt(output: Output, change: (row: Output) => Output): void {
  if (Array.isArray(output.receipts)) output.receipts = output.receipts.filter(isRecord).map(change);
}

function swap(output: Output, id: string): void {
  output[id] = otherId(output[id]);
}

function changeTaskId(output: Output): void {
  const task = isRecord(output.task) ? output.task : {};
  if (isRecord(task.summary)) swap(task.summary, "task_id");
}

function refuse(result: Output, kind: string): void {
  result.success = false;
  result.output = { error_kind: kind };
}

function stillRunning(output: Output): void {
  output.state = "running";
  output.execution_state = "not_started";
}

function completed(output: Output): void {
  Object.assign(output, { state: "completed", execution_state: "completed", has_more: false });
  output.terminal = { stop_reason: "end_turn", error_code: null, message: null };
}
