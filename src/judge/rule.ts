// How a judge says what it found: one rule, one outcome, the deciding fact and where that is recorded.
import type { Rule } from "../contract/report.ts";
import { type JudgeCode, outcomeOfCode, partyOf } from "./codes.ts";

export interface RuleName {
  readonly rule: string;
  readonly where: string;
}

/** The rule held. */
export function passed(name: RuleName, fact: string): Rule {
  return { rule: name.rule, outcome: "pass", fact, where: name.where };
}

/** The rule ended with a code; whether that is `fail` or `incomplete` lies in the code. */
export function ended(name: RuleName, code: JudgeCode, fact: string): Rule {
  return { rule: name.rule, outcome: outcomeOfCode(code), code, party: partyOf(code), fact, where: name.where };
}

/** A real seat has no way to answer this. */
export function notApplicable(name: RuleName, fact: string): Rule {
  return { rule: name.rule, outcome: "not_applicable", fact, where: name.where };
}

/** Nothing was recorded to judge. */
export function notReached(name: RuleName): Rule {
  return ended(name, "not_reached", "nothing was recorded");
}
