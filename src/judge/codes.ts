// Every code a judge can end a rule with: one sentence, and the party it is about.
// The seed's codes are spelled as the seed spells them; ours stand in the second table.

/** Whose doing a failed rule is. `harness` is never the subject. */
export type Party = "consumer" | "adapter" | "server" | "runner" | "host" | "harness";

const seedCodes = {
  consumer_deadline: "The consumer did not end before the time-out.",
  consumer_output_limit: "The consumer wrote more than it may while it ran.",
  structured_log_limit: "The structured log was longer than it may be.",
  consumer_process_failed: "The consumer ended with a status other than 0.",
  unexpected_jsonl_frame: "A line of the structured log was not an object.",
  consumer_used_unrequested_tools: "The consumer ran a shell, changed a file or searched the web.",
  consumer_called_wrong_mcp_tool: "The consumer called another server or tool than the one allowed.",
  consumer_mcp_call_failed: "A tool call of the consumer failed or was declined.",
  consumer_did_not_call_mcp: "The consumer completed no tool call.",
  consumer_project_mismatch: "A tool call named another project.",
  consumer_used_lifecycle_context: "A tool call carried a session, attempt or binding of its own.",
  consumer_missing_structured_tool_result: "A tool call had no single structured result.",
  consumer_webcodex_tool_unsuccessful: "A tool call's structured result was not a success.",
  consumer_file_read_failed: "A tool call did not say that every file was read.",
  consumer_read_item_failed: "One file of a tool call was not read.",
  consumer_unexpected_read_range: "A file outside the two fixture files, or a numbered form, was read.",
  consumer_incomplete_file_read: "A file was not read from its first line to its end.",
  consumer_tool_result_mismatch: "The text a tool call returned is not the text on disk.",
  consumer_missing_file_evidence: "The verified reads do not cover both fixture files.",
  consumer_final_message_missing: "The consumer gave no final message.",
  consumer_report_mismatch: "The consumer's answer does not equal the values in the files.",
  consumer_changed_fixture: "The fixture was no longer clean after the consumer's turn.",
  consumer_created_durable_lifecycle: "A session, goal, agent or task existed around a read-only turn.",
  lifecycle_inventory_shape: "A lifecycle listing came without its list.",
  baseline_should_fail: "The fixed tests did not fail as they should before the work.",
  native_test_output_limit: "A test run wrote 1 MiB or more.",
  native_tests_missing_count: "A test run did not say how many tests ran.",
  binding_replay_changed_run: "The repeated start was answered with another run.",
  recovery_observation_deadline: "The run was not seen in flight before the time-out.",
  runner_exited_before_restart: "The runner ended before the server was restarted.",
  recovery_observed_wrong_run: "An observation was about another run.",
  recovery_execution_state_missing: "An observation carried a state that is not one of the known ones.",
  managed_event_history_lost: "The server no longer had the whole history of the run.",
  recovery_observation_token_missing: "An observation gave no token to continue from.",
  in_flight_restart_not_observed: "The server was not restarted while the run was in flight.",
  runner_did_not_survive_server_stop: "The runner ended together with the server.",
  server_restart_changed_task: "After the restart the server did not know the same task.",
  recovery_changed_execution_identity: "After the restart task, attempt or run were not the same.",
  managed_observation_deadline: "The run did not end before the time-out after the restart.",
  runner_exited_during_run: "The runner ended during the run.",
  managed_turn_not_completed: "The run did not complete with its task succeeded and a normal end of turn.",
  managed_normalized_activity_missing: "The run shows no message together with activity.",
  managed_permission_required: "The agent asked for a permission.",
  managed_prompt_redispatched: "There was not exactly one prompt to exactly one adapter process.",
  actual_forced_model_not_observed: "The prompt was not made with the forced model and effort.",
  live_adapter_version_mismatch: "The adapter never showed the required version.",
  agent_modified_fixed_acceptance: "The fixed test file is not the one that was committed.",
  agent_did_not_add_independent_case: "The agent added no test file of its own.",
  independent_fixed_acceptance_failed: "The fixed tests do not pass in our own run.",
  additional_tests_failed: "All tests together do not pass, or no test was added.",
  tests_mutated_acceptance_source: "Running the tests changed the fixed tests or the implementation.",
  agent_changed_unrequested_tracked_files: "Other tracked files than the implementation were changed.",
} as const;

const ownCodes = {
  consumer_turn_failed: "The consumer's last turn was reported as failed.",
  consumer_turn_incomplete: "The consumer's stream ended without the end of its turn.",
  structured_log_cut: "The last line of the structured log was cut.",
  structured_log_malformed: "A line of the structured log was not JSON.",
  structured_log_frames_lost: "More events came than are kept, so the stream was not judged whole.",
  consumer_answer_not_json: "The consumer's answer is not one JSON object.",
  consumer_receipt_not_served: "The consumer's stream shows a read that the server never served.",
  consumer_left_process: "The consumer ended and left a process behind.",
  consumer_printed_secret: "The consumer printed a credential.",
  agent_printed_secret: "The agent printed a credential.",
  server_printed_secret: "The server printed a credential.",
  runner_printed_secret: "The runner printed a credential.",
  server_receipts_not_kept: "The server served a file and kept no right receipt of it.",
  managed_config_changed: "The adapter changed model or effort after the prompt.",
  managed_outcome_uncertain: "Nobody can say how the run ended.",
  adapter_frame_limit: "A frame between runner and adapter was longer than 2 MiB.",
  audit_incomplete: "The relay's file reached its limit, so later events are not recorded.",
  audit_chain_broken: "The records of the relay's file do not follow from each other.",
  audit_missing: "There is no readable file of the relay.",
  agent_rewrote_fixed_acceptance: "The fixed test file was written and put back.",
  agent_tampered_with_test_runner: "A test run was made to mean something else than it says.",
  leftover_processes: "Something this run started is still visible.",
  leftover_unknown: "It was not possible to look for left-over processes.",
  private_text_found: "Something private was found in written evidence.",
  private_scan_missing: "The written evidence was not searched for private text.",
  private_mode_wrong: "A private file or folder can be read by others.",
  not_reached: "An earlier failure kept this from being looked at.",
} as const;

export const judgeCodes = { ...seedCodes, ...ownCodes } as const;
export type JudgeCode = keyof typeof judgeCodes;

const parties: ReadonlyArray<readonly [prefix: string, party: Party]> = [
  ["harness_", "harness"],
  ["internal", "harness"],
  ["private_", "harness"],
  ["leftover_", "harness"],
  ["not_reached", "harness"],
  ["consumer_group_must_be_independent", "harness"],
  ["consumer_", "consumer"],
  ["structured_log_", "consumer"],
  ["unexpected_jsonl_frame", "consumer"],
  ["agent_", "adapter"],
  ["adapter_script_", "host"],
  ["adapter_", "adapter"],
  ["managed_event_history_lost", "server"],
  ["managed_outcome_uncertain", "runner"],
  ["managed_prompt_redispatched", "runner"],
  ["managed_", "adapter"],
  ["actual_forced_model", "adapter"],
  ["live_adapter_", "adapter"],
  ["independent_fixed_", "adapter"],
  ["additional_tests_", "adapter"],
  ["tests_mutated_", "adapter"],
  ["native_test", "adapter"],
  ["runner_", "runner"],
  ["audit_", "runner"],
  ["codex_environment_missing", "host"],
  ["codex_", "consumer"],
  ["canonical_", "harness"],
  ["subject_file_", "harness"],
  ["output_folder_", "host"],
  ["seat_path_", "host"],
  ["account_seats_", "host"],
  ["invalid_timeout", "host"],
  ["listener_not_ours", "host"],
  ["version_probe_", "host"],
  ["python_", "host"],
  ["posix_", "host"],
  ["git_", "host"],
  ["fixture_", "host"],
  ["baseline_", "host"],
  ["in_flight_", "adapter"],
];

/** Whose doing a code is; what no rule names lies with the control plane that answered. */
export function partyOf(code: string): Party {
  return parties.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "server";
}

const incompleteCodes: ReadonlySet<string> = new Set<JudgeCode>([
  "consumer_deadline",
  "recovery_observation_deadline",
  "managed_observation_deadline",
  "managed_event_history_lost",
  "managed_outcome_uncertain",
  "in_flight_restart_not_observed",
  "structured_log_frames_lost",
  "audit_incomplete",
  "audit_missing",
  "leftover_unknown",
  "private_scan_missing",
  "not_reached",
]);

/** Lost events, an uncertain outcome and a deadline prove neither side: such a code ends `incomplete`. */
export function outcomeOfCode(code: string): "fail" | "incomplete" {
  return incompleteCodes.has(code) || code.startsWith("harness_") || code === "internal" ? "incomplete" : "fail";
}

/** The sentence of a code, or a general one for a code that belongs to another room. */
export function sentenceOf(code: string): string {
  return (judgeCodes as Readonly<Record<string, string>>)[code] ?? "The stage ended with this code.";
}
