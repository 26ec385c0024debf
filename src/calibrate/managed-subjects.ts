// Agents, servers and runners that are bad in exactly one way, each with the one code it has to be refused with.
import type { BadRow } from "./catalogue.ts";

const agent: readonly BadRow[] = [
  ["edits-fixed-test", "agent_modified_fixed_acceptance"],
  ["edits-and-restores-fixed-test", "agent_rewrote_fixed_acceptance"],
  ["edits-other-file", "agent_changed_unrequested_tracked_files"],
  ["adds-no-test", "agent_did_not_add_independent_case"],
  ["adds-failing-test", "additional_tests_failed"],
  ["adds-empty-test", "additional_tests_failed"],
  ["tampers-test-runner", "agent_tampered_with_test_runner"],
  ["wrong-work", "independent_fixed_acceptance_failed"],
  ["changes-nothing", "independent_fixed_acceptance_failed"],
  ["adds-flooding-test", "native_test_output_limit"],
  ["adds-exiting-test", "native_tests_missing_count"],
  ["test-rewrites-source", "tests_mutated_acceptance_source"],
  ["other-model", "actual_forced_model_not_observed"],
  ["other-effort", "actual_forced_model_not_observed"],
  ["other-version", "live_adapter_version_mismatch"],
  ["no-identity", "live_adapter_version_mismatch"],
  ["config-after-prompt", "managed_config_changed"],
  ["asks-permission", "managed_permission_required"],
  ["no-activity", "managed_normalized_activity_missing"],
  ["no-message", "managed_normalized_activity_missing"],
  ["exits-before-prompt", "managed_turn_not_completed"],
  ["exits-after-prompt", "managed_outcome_uncertain"],
  ["stops-early", "managed_turn_not_completed"],
  ["hangs", "managed_observation_deadline", { limits: { observationDeadlineMs: 6_000, recoveryExtraMs: 1_000 } }],
  ["frame-over-limit", "adapter_frame_limit"],
  ["repeats-its-instruction", "private_text_found"],
  ["floods-the-relay", "audit_incomplete"],
  ["prints-secret", "agent_printed_secret"],
];

const consumer = { only: "consumer" } as const;
/** A wait that ends with a refusal only when it is over; the first start has to fit into it on a loaded machine too. */
const short = { limits: { readinessMs: 12_000 } } as const;

const server: readonly BadRow[] = [
  ["ends-the-run-too-soon", "in_flight_restart_not_observed"],
  ["loses-history", "managed_event_history_lost"],
  ["changes-task-id", "server_restart_changed_task"],
  ["changes-attempt-id", "recovery_changed_execution_identity"],
  ["changes-run-id", "recovery_changed_execution_identity"],
  ["changes-run-id-at-the-end", "recovery_changed_execution_identity"],
  ["forgets-task-after-restart", "tool_read_agent_task_agent_task_not_found"],
  ["forgets-binding-after-restart", "tool_reconcile_agent_task_coding_run_agent_task_coding_run_not_found"],
  ["empty-store-after-restart", "service_not_ready", short],
  ["stays-away-after-restart", "service_ended_before_ready"],
  ["dies-after-restart", "http_unreachable"],
  ["new-run-on-replay", "binding_replay_changed_run"],
  ["redispatches-on-replay", "managed_prompt_redispatched"],
  ["refuses-the-start", "tool_start_agent_task_coding_run_coding_agent_capacity_full"],
  ["binds-no-run", "tool_answer_incomplete"],
  ["wrong-run-observed", "recovery_observed_wrong_run"],
  ["running-without-execution", "recovery_observation_deadline", { limits: { observationDeadlineMs: 5_000 } }],
  ["unknown-state", "recovery_execution_state_missing"],
  ["no-token", "recovery_observation_token_missing"],
  ["says-completed", "managed_turn_not_completed"],
  ["answers-html", "http_result_not_json"],
  ["answers-half", "http_result_not_json"],
  ["answers-too-much", "http_result_limit"],
  ["answers-slowly", "http_timeout", { limits: { httpTimeoutMs: 3_000 } }],
  ["inventory-without-list", "lifecycle_inventory_shape", consumer],
  ["no-receipts", "server_receipts_not_kept", consumer],
  ["wrong-receipts", "server_receipts_not_kept", consumer],
  ["serves-other-bytes", "consumer_tool_result_mismatch", consumer],
  ["prints-secret", "server_printed_secret"],
];

const runner: readonly BadRow[] = [
  ["dies-with-server", "runner_did_not_survive_server_stop"],
  ["prompts-twice", "managed_prompt_redispatched"],
  ["starts-adapter-twice", "managed_prompt_redispatched"],
  ["dies-before-restart", "runner_exited_before_restart"],
  ["dies-during-run", "runner_exited_during_run"],
  ["skips-the-relay", "audit_missing"],
  ["writes-into-the-audit", "audit_chain_broken"],
  ["prints-secret", "runner_printed_secret"],
];

export const managedSubjects = { agent, server, runner } as const;
