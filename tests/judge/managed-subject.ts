// Honest facts of a managed run and its outage, for the judges' tests; each test changes one of them.
import type {
  AuditFacts,
  Canaries,
  Census,
  ManagedFacts,
  ObservationFact,
  RecoveryFacts,
  Seats,
} from "../../src/contract/report.ts";

export const hash = (letter: string) => letter.repeat(64);
const bound = { task_id: "task_1", attempt_id: "attempt_1", run_id: "run_1" };

export function step(change: Partial<ObservationFact> = {}): ObservationFact {
  return {
    when: "before_restart",
    at_ms: 1,
    run_id: "run_1",
    state: "running",
    execution_state: "started",
    history_lost: false,
    has_token: true,
    has_more: false,
    events: {},
    ...change,
  };
}

export const lastStep = step({
  when: "after_restart",
  state: "completed",
  execution_state: "completed",
  events: { agent_message: 2, tool_activity: 1, file_change: 1 },
});

export function recoveryFacts(change: Partial<RecoveryFacts> = {}): RecoveryFacts {
  return {
    bound,
    replay_run_id: "run_1",
    observations: [step({ state: "starting", execution_state: "not_started" }), step(), lastStep],
    observation_deadline: null,
    phase_before_disconnect: "in_flight",
    runner_ended: null,
    old_server_pid: 100,
    new_server_pid: 200,
    runner_pid_before: 150,
    runner_pid_after: 150,
    task_id_after_restart: "task_1",
    reconciled: bound,
    reconciled_at_end: bound,
    ...change,
  };
}

const tests = (exit_code: number, tests_run: number) => ({ exit_code, tests_run, output_sha256: hash("e") });

export function managedFacts(change: Partial<ManagedFacts> = {}): ManagedFacts {
  const fixed = { sha256: hash("a"), inode: "7", changed_ns: "1000" };
  return {
    baseline: tests(1, 7),
    fixed_tests_expected: 7,
    final_state: "completed",
    task_state: "succeeded",
    stop_reason: "end_turn",
    fixed_before: fixed,
    fixed_after: fixed,
    additional_tests: ["test_extra.py"],
    suspicious_files: [],
    fixed_tests: tests(0, 7),
    all_tests: tests(0, 8),
    hashes_before_tests: { fixed: hash("a"), implementation: hash("b") },
    hashes_after_tests: { fixed: hash("a"), implementation: hash("b") },
    changed_tracked: ["clamp.py"],
    implementation_name: "clamp.py",
    diff_sha256: hash("c"),
    ...change,
  };
}

export const forced = { model: "gpt-5.6-luna", reasoning_effort: "medium" };

export function auditOf(change: Partial<AuditFacts> = {}): AuditFacts {
  return {
    sha256: hash("d"),
    count: 5,
    intact: true,
    adapter_processes: 1,
    prompts: [forced],
    configs_after_prompt: [],
    identities: [{ name: "proctor-standin-agent", version: "1.0.0" }],
    frame_limit: false,
    audit_limit: false,
    adapter_exits: 1,
    ...change,
  };
}

const seat = (name: string) => ({
  kind: "standin" as const,
  name,
  version: "1.0.0",
  path: "/opt/proctor",
  sha256: hash("f"),
});
export const seats: Seats = {
  control_plane: { ...seat("proctor-server"), kind: "embedded" },
  consumer: seat("proctor-standin-exec"),
  adapter: seat("proctor-standin-agent"),
  model: null,
};

export function census(change: Partial<Census> = {}): Census {
  const started = [{ pid: 100, start_ticks: 5, name: "proctor", role: "server" }];
  return { scope: "whole_tree", before: [], started, still_visible: [], listening_ports: [], litter: [], ...change };
}

export function canaries(change: Partial<Canaries> = {}): Canaries {
  return {
    planted: [{ id: "prompt", where: "prompt" }],
    scanned: ["report.json"],
    not_scanned: ["private/"],
    found: [],
    wrong_modes: [],
    ...change,
  };
}
