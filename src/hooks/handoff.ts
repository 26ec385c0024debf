// Reads the saved state of exactly one Session and gives it back as past evidence. It chooses no Session, writes
// nothing, and starts nothing.
import { decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";
import { loadConfig } from "./config-file.ts";
import { checkHandoff } from "./handoff-check.ts";
import { hookLimits } from "./limits.ts";
import { type Answer, ask, isSuccess, type Server } from "./operator-client.ts";
import { type ExactJson, parseExact } from "./python-json.ts";
import { isInside, resolveLoose } from "./roots.ts";

export const recoveryNote =
  "This is saved evidence of the past, not the present. Before you act, look at the current rules, files, " +
  "repository state and running jobs, and do not repeat an operation whose outcome is unknown.";

/** Asks the operator's server; replaced by tests that control the answer. */
export type Asker = (server: Server, question: Parameters<typeof ask>[1]) => Promise<Answer>;

export interface HandoffTarget extends Server {
  readonly project: string;
  readonly projectRoot: string;
  readonly workflowSessionId: string;
}

export interface ReadOptions {
  /** Where the reader stands; it must be inside the project. */
  readonly currentFolder: string;
  readonly timeoutMs?: number;
  readonly ask?: Asker;
}

export type HandoffEvidence = { readonly status: "read" } & Record<string, ExactJson>;

/** The evidence of the target's Session, checked whole. */
export async function readHandoff(target: HandoffTarget, options: ReadOptions): Promise<HandoffEvidence> {
  if (!isInside(resolveLoose(options.currentFolder), resolveLoose(target.projectRoot))) {
    throw new Failure<HooksCode>("outside_configured_project");
  }
  const answer = await (options.ask ?? ask)(target, {
    route: "/api/tools/call",
    body: {
      tool: "get_session_handoff_state",
      params: { project: target.project, session_id: target.workflowSessionId },
    },
    timeoutMs: options.timeoutMs ?? hookLimits.readDeadlineMs,
    tooLarge: "oversized_handoff_response",
  });
  if (!isSuccess(answer)) throw new Failure<HooksCode>("handoff_read_unconfirmed");
  const value = parseExact(decodeUtf8(answer.body) ?? "");
  if (value === undefined) throw new Failure<HooksCode>("handoff_read_unconfirmed");
  const parts = checkHandoff(value, { project: target.project, sessionId: target.workflowSessionId });
  return {
    status: "read",
    project: target.project,
    session_id: target.workflowSessionId,
    handoff_brief: parts.brief,
    recovery_note: recoveryNote,
    ...(parts.goalContext === undefined ? {} : { goal_context: parts.goalContext }),
    ...(parts.acceptance === undefined ? {} : { acceptance: parts.acceptance }),
  };
}

/** `handoff read`: the configured Session, from inside the configured project. */
export async function handoffOf(configPath: string, options: ReadOptions): Promise<HandoffEvidence> {
  return await readHandoff(loadConfig(configPath), options);
}
