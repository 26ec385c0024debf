// What is reported about one tool call, and under which identities. Only five fields of the payload are looked at
// (six with a helper's id); no input, output or path of the call is ever kept.
import { sha256Hex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { isPlainName } from "./characters.ts";
import type { HooksCode } from "./codes.ts";
import type { HookConfig } from "./config-file.ts";
import { hookLimits } from "./limits.ts";
import { compactAscii } from "./python-json.ts";
import { isAbsolutePath, resolveLoose, samePath } from "./roots.ts";

/** The body of a report; the keys are in the order they are sent. */
export interface ObservedEvent {
  readonly project: string;
  readonly session_id: string;
  readonly adapter_id: string;
  readonly event_id: string;
  readonly observed_tool: string;
  /** Always unknown: a tool's text is no receipt. */
  readonly exit_code: null;
}

const maxToolNameChars = 64;
const toolMarks = "_.:-";

/** The report of a payload; null when it is of another event. */
export function eventOf(payload: Record<string, unknown>, config: HookConfig): ObservedEvent | null {
  if (payload.hook_event_name !== "PostToolUse") return null;
  if (payload.session_id !== config.localSessionId) throw new Failure<HooksCode>("local_session_mismatch");
  const cwd = payload.cwd;
  if (
    typeof cwd !== "string" ||
    !isAbsolutePath(cwd) ||
    !samePath(resolveLoose(cwd), resolveLoose(config.projectRoot))
  ) {
    throw new Failure<HooksCode>("project_root_mismatch");
  }
  const call = payload.tool_use_id;
  if (
    typeof call !== "string" ||
    !call.isWellFormed() ||
    call === "" ||
    [...call].length > hookLimits.maxToolUseIdChars
  ) {
    throw new Failure<HooksCode>("missing_tool_identity");
  }
  const name = payload.tool_name;
  if (typeof name !== "string" || !name.isWellFormed()) throw new Failure<HooksCode>("invalid_tool_name");
  return {
    project: config.project,
    session_id: config.workflowSessionId,
    adapter_id: adapterId(config.localSessionId),
    event_id: eventId(config.localSessionId, call, agentOf(payload.agent_id)),
    observed_tool: toolLabel(name),
    exit_code: null,
  };
}

function agentOf(value: unknown): string {
  if (value === undefined || value === null || value === "") return "";
  // A helper that cannot be told apart would be counted as its parent.
  if (typeof value !== "string" || !value.isWellFormed()) throw new Failure<HooksCode>("missing_tool_identity");
  return value;
}

export function adapterId(localSessionId: string): string {
  return sha256Hex(`codex-session\0${localSessionId}`);
}

/** The identity of one call; a helper's id keeps its calls apart from its parent's. */
export function eventId(localSessionId: string, toolUseId: string, agentId = ""): string {
  const base = `codex-tool\0${localSessionId}\0${toolUseId}`;
  return sha256Hex(agentId === "" ? base : `${base}\0${agentId}`);
}

/** A name the server takes, or a stable label that never makes two tools one. */
export function toolLabel(name: string): string {
  if (isPlainName(name, maxToolNameChars, toolMarks)) return name;
  const legal = name.replace(/[^A-Za-z0-9_.:-]/g, "").slice(0, 40);
  return `x.${legal}.${sha256Hex(name).slice(0, 16)}`;
}

export function isToolLabel(value: unknown): value is string {
  return typeof value === "string" && isPlainName(value, maxToolNameChars, toolMarks);
}

/** What ties a pending report to the configuration it was made under. */
export function associationOf(config: HookConfig): string {
  return sha256Hex(
    compactAscii([
      config.serverUrl,
      config.project,
      config.projectRoot,
      config.workflowSessionId,
      config.localSessionId,
    ]),
  );
}

/** The outbox file of a report. */
export function recordName(association: string, event: string): string {
  return `${sha256Hex(association + event)}.json`;
}

/** The bytes of an outbox record. */
export function recordText(association: string, event: ObservedEvent): string {
  return compactAscii({ association, event: { ...event } }, { sorted: true });
}
