// Every refusal and every finding of the evidence room, with the sentence a person reads.

/** Refusals: there is nothing to check. */
export const evidenceCodes = {
  report_missing: "There is no report.json here.",
  report_unreadable: "The report is not a regular file of JSON within its limit, or not yours to read.",
  report_format_unknown: "The report is not in the format this program writes.",
  report_digest_invalid: "A digest is 64 hexadecimal characters.",
  evidence_too_many_files: "There are more or deeper files beside the report than are looked at.",
  merge_nothing_given: "No report was given to merge.",
  merge_too_many: "More reports were given than one page holds.",
  evidence_unwritable:
    "The page could not be written there: its folder has to take new files, and a link, pipe or device is not replaced.",
} as const;
export type EvidenceCode = keyof typeof evidenceCodes;

/** Findings: what does not agree, each one kind of change. */
export const findingCodes = {
  digest_mismatch: "The report is not the one whose digest was given.",
  report_shape: "A field of the report is missing, of another kind, or not known.",
  report_not_closed: "The report was not closed, or something was cut from its end.",
  verdict_missing: "The report has no verdict or no facts to judge.",
  rule_edited: "A rule's recorded outcome is not what its facts come to.",
  rule_missing: "A rule is missing from the verdict.",
  rule_unknown: "The verdict holds a rule that nothing comes to.",
  outcome_edited: "The verdict's outcome is not what its rules come to.",
  not_proven_edited: "The list of what is not proven was changed.",
  state_edited: "The report's state does not follow from its stages and verdict.",
  stage_edited: "A stage is marked passed although one of its rules did not hold.",
  manifest_missing: "The report lists no files, or not those its facts rest on.",
  manifest_repeated: "The list of files names one path twice or a path outside the folder.",
  file_missing: "A listed file is not there.",
  file_changed: "A listed file has other bytes.",
  file_moved: "A listed file lies under another name.",
  file_replaced: "A listed file is a link or no regular file.",
  file_extra: "A file lies there that is not listed.",
  audit_changed: "The relay's file has other bytes than the report says.",
  audit_line_removed: "The relay's file has fewer records than the report says.",
  audit_line_added: "The relay's file has more records than the report says.",
  audit_chain_broken: "The records of the relay's file do not follow from each other.",
  audit_facts_edited: "What the report counts is not what the relay's file holds.",
  diff_edited: "The diff is not the one whose digest was recorded.",
  binding_edited: "Task, attempt or run differ between two places of the report.",
  recovery_edited: "Process numbers or phase of the outage differ between two places of the report.",
  receipts_edited: "The consumer's reads differ between two places of the report.",
  fixture_edited: "The fixture's digests differ between two places of the report.",
  tests_edited: "Test results differ between two places of the report.",
  seats_edited: "A seat differs between two places of the report.",
  times_edited: "The report's times do not follow each other.",
} as const;
export type FindingCode = keyof typeof findingCodes;

export interface Finding {
  readonly code: FindingCode;
  readonly where: string;
}
