// What `verify` found, as a screen for people: the verdict first, then each finding with its sentence.
import { visible } from "../base/visible.ts";
import { sentenceOf } from "../judge/codes.ts";
import { findingCodes } from "./codes.ts";
import type { Verification } from "./verify.ts";

export function verificationText(found: Verification): string {
  const decided = found.decided_by;
  const lines = [
    `Run: ${stateText(found.state, found.verdict?.outcome)}`,
    decided === null
      ? "Decided by: every rule held"
      : `Decided by: ${decided.rule} ${decided.code ?? decided.outcome}: ${decided.code === null ? "" : sentenceOf(decided.code)} (${decided.where})`,
    found.agrees ? "Evidence: agrees with its facts and files" : `Evidence: ${found.findings.length} findings`,
    ...found.findings.map(({ code, where }) => `  ${code} at ${visible(where)}: ${findingCodes[code]}`),
    `Digest: ${found.digest}`,
    found.reach,
  ];
  return lines.join("\n");
}

/** State and outcome in as few words as say both: `passed`, `failed`, `failed (incomplete)`. */
export function stateText(state: string, outcome: string | undefined): string {
  return outcome === undefined || outcome === state ? state : `${state} (${outcome})`;
}
