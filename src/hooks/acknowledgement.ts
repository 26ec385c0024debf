// What the server's answer to one report means. Pure: only an answer that repeats the report counts as delivered,
// and of a refusal nothing but its fixed word is read.
import { decodeUtf8 } from "../base/bytes.ts";
import { isRecord } from "../base/json.ts";
import type { HooksCode } from "./codes.ts";
import type { ObservedEvent } from "./event.ts";
import { type Answer, isSuccess } from "./operator-client.ts";
import { parseExact } from "./python-json.ts";

export type Delivery =
  | { readonly outcome: "acknowledged" }
  /** The server will not take this report: it stays, and hooks do not send it again. */
  | { readonly outcome: "refused"; readonly kind: string }
  /** This answer settles nothing; the next record may fare better. */
  | { readonly outcome: "unconfirmed"; readonly code: HooksCode }
  /** The server is ill, unreachable or unable: nothing more is sent in this run. */
  | { readonly outcome: "stopped"; readonly code: HooksCode };

const kindPattern = /^[a-z0-9_]{1,100}$/;
const unknownTool = new Set(["unknown_tool", "tool_not_found", "unsupported_tool", "tool_unavailable"]);
/** Refusals that pass by themselves: the same report may be stored later. */
const passing = new Set([
  "external_observation_storage_uncertain",
  "external_observation_store_unavailable",
  "storage_unavailable",
  "rate_limited",
  "busy",
]);

export function weighAnswer(answer: Answer, event: ObservedEvent): Delivery {
  const value = parseExact(decodeUtf8(answer.body) ?? "");
  if (answer.status === 404) return { outcome: "stopped", code: "server_unsupported" };
  if (answer.status === 400) return weighRefusal(errorKindOf(value), saysUnknownTool(value));
  if (!isSuccess(answer)) return { outcome: "stopped", code: "recording_unconfirmed_check_pending_state" };
  if (!isRecord(value) || !isRecord(value.output)) return { outcome: "stopped", code: "invalid_recording_response" };
  const output = value.output;
  const observation = output.observation ?? {};
  if (!isRecord(observation)) return { outcome: "stopped", code: "invalid_recording_response" };
  const acknowledged =
    value.success === true &&
    output.project === event.project &&
    output.session_id === event.session_id &&
    output.provenance === "external_report" &&
    observation.tool === event.observed_tool &&
    observation.adapter_id === event.adapter_id &&
    observation.event_id === event.event_id &&
    (observation.exit_code ?? null) === event.exit_code;
  if (acknowledged) return { outcome: "acknowledged" };
  return { outcome: "unconfirmed", code: "recording_not_acknowledged" };
}

/** The server's fixed words for a tool it does not have; such an answer comes before any tool and has no kind. */
function saysUnknownTool(value: unknown): boolean {
  return isRecord(value) && value["error"] === "unknown tool";
}

function weighRefusal(kind: string | null, toolUnknown: boolean): Delivery {
  if (kind === null && toolUnknown) return { outcome: "stopped", code: "server_unsupported" };
  if (kind === null) return { outcome: "stopped", code: "recording_unconfirmed_check_pending_state" };
  if (unknownTool.has(kind)) return { outcome: "stopped", code: "server_unsupported" };
  if (passing.has(kind)) return { outcome: "stopped", code: "recording_unconfirmed_check_pending_state" };
  return { outcome: "refused", kind };
}

function errorKindOf(value: unknown): string | null {
  if (!isRecord(value)) return null;
  const output = value.output;
  const kind = isRecord(output) ? output.error_kind : value.error_kind;
  return typeof kind === "string" && kindPattern.test(kind) ? kind : null;
}
