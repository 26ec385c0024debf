// Ids on the wire: a prefix that names the kind and a compact random suffix. Callers treat them as opaque.
// Session suffixes are lower-case hexadecimal, because older published patterns forbid a minus sign there.
import { toBase64Url, toHex } from "../base/bytes.ts";
import type { RandomBytes } from "../base/random.ts";

/** Prefix of each kind of id. */
export const idPrefixes = {
  user: "wc_user_",
  token: "wc_token_",
  session: "wc_sess_",
  sessionEvent: "wc_evt_",
  message: "wc_msg_",
  goal: "wc_goal_",
  agent: "wc_dagent_",
  task: "wc_agent_task_",
  attempt: "wc_agent_task_attempt_",
  fence: "wc_agent_task_fence_",
  run: "wc_agent_run_",
} as const;

export type IdKind = keyof typeof idPrefixes;

const identityBytes = 12;
const fenceBytes = 16;

/** A fresh id of this kind: 12 random bytes, 16 for a fence. */
export function newId(kind: IdKind, random: RandomBytes): string {
  const bytes = random(kind === "fence" ? fenceBytes : identityBytes);
  return idPrefixes[kind] + (kind === "session" ? toHex(bytes) : toBase64Url(bytes));
}

/** The runtime id of a project that a Runner offers. */
export function runtimeProjectId(clientId: string, projectId: string): string {
  return `agent:${clientId}:${projectId}`;
}
