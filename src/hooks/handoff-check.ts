// Judges the server's handoff answer. Pure: it gives back what may be shown or throws the one code that says why
// not; the rest of the brief is passed through untouched, and nothing of a refused payload leaves here.
import { utf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import type { HooksCode } from "./codes.ts";
import { hasExactly, isGoalContext, isListOf, isText } from "./handoff-goal.ts";
import { hookLimits } from "./limits.ts";
import { type ExactJson, plainLine } from "./python-json.ts";

export interface HandoffParts {
  readonly brief: ExactJson;
  readonly goalContext?: ExactJson;
  readonly acceptance?: ExactJson;
}

/** The shown parts of an answer about exactly this Project and Session. */
export function checkHandoff(answer: unknown, identity: { project: string; sessionId: string }): HandoffParts {
  const refuse = (code: HooksCode) => new Failure<HooksCode>(code);
  if (!isRecord(answer) || answer.success !== true) throw refuse("handoff_read_failed");
  const output = answer.output;
  if (!isRecord(output) || output.project !== identity.project || output.session_id !== identity.sessionId) {
    throw refuse("handoff_identity_mismatch");
  }
  const brief = output.handoff_brief;
  const session = isRecord(brief) ? brief.session : undefined;
  if (!isRecord(brief) || !isRecord(session) || session.session_id !== identity.sessionId) {
    throw refuse("handoff_identity_mismatch");
  }
  const basis = brief.basis;
  if (!isRecord(basis) || typeof basis.complete !== "boolean") throw refuse("handoff_basis_missing");
  const external = brief.external_observations;
  const coverage = isRecord(external) ? external.coverage : undefined;
  if (
    !isRecord(external) ||
    external.provenance !== "external_report" ||
    !isRecord(coverage) ||
    coverage.complete !== false
  ) {
    throw refuse("handoff_external_observations_missing");
  }
  if (brief.deterministic !== true || brief.llm_summary !== false) throw refuse("handoff_contract_invalid");
  const goal = output.goal_context ?? null;
  if (goal !== null && !isGoalContext(goal)) throw refuse("handoff_goal_context_invalid");
  const acceptance = output.acceptance;
  if (acceptance !== undefined && !isAcceptance(acceptance)) throw refuse("handoff_acceptance_invalid");
  return {
    brief: brief as ExactJson,
    ...(goal === null ? {} : { goalContext: goal as ExactJson }),
    ...(acceptance === undefined ? {} : { acceptance: acceptance as ExactJson }),
  };
}

const acceptanceKeys = ["version", "state", "reason_codes", "evidence_refs", "truncated", "advisory"];
const acceptanceStates = ["not_ready", "ready_for_review", "blocked", "unknown"];
const token = /^[a-z][a-z0-9_]{0,63}$/;

/** Advice about readiness in exactly the agreed form and size. */
export function isAcceptance(value: unknown): boolean {
  return (
    hasExactly(value, acceptanceKeys) &&
    value.version === 1 &&
    acceptanceStates.includes(value.state as string) &&
    isListOf(value.reason_codes, hookLimits.maxReasonCodes, (one) => typeof one === "string" && token.test(one)) &&
    isListOf(value.evidence_refs, hookLimits.maxEvidenceRefs, isEvidenceRef) &&
    typeof value.truncated === "boolean" &&
    value.advisory === true &&
    utf8(plainLine(value as ExactJson)).length <= hookLimits.maxAcceptanceBytes
  );
}

function isEvidenceRef(value: unknown): boolean {
  return hasExactly(value, ["kind", "id"]) && isText(value.kind, 64) && isText(value.id, 256);
}
