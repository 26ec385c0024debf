// The managed stage: one bound run, the same start sent twice, the server ended in flight, and the work looked at.
import { join } from "node:path";
import { holdsWithin } from "../base/clock.ts";
import { Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import { writePrivateJson } from "../base/private-files.ts";
import {
  acceptanceEffort,
  acceptanceModel,
  type ExecutionIds,
  type ManagedFacts,
  type RecoveryFacts,
  type ReportPhase,
} from "../contract/report.ts";
import { judgeAudit } from "../judge/audit.ts";
import type { JudgeCode } from "../judge/codes.ts";
import { judgeManagedTurn, judgeManagedWork } from "../judge/managed.ts";
import { sameExecution } from "../judge/recovery.ts";
import { stageCode } from "../judge/verdict.ts";
import { newCanary } from "./canaries.ts";
import type { Fixture } from "./fixture.ts";
import { harnessLimits } from "./limits.ts";
import { endedInJournal, inspectWork, readAuditFacts, runsAdmitted } from "./managed-work.ts";
import { openGate } from "./model-seat.ts";
import { nativeTests } from "./native-tests.ts";
import { eventKinds, observeAfterRestart, observeBeforeRestart, statesOf } from "./observation.ts";
import { bindingOf, textIn } from "./operator.ts";
import type { Fields } from "./report-book.ts";
import type { Run } from "./run.ts";
import { operatorOf, startServer, stopService, waitReady } from "./services.ts";

/** Runs and judges the managed half, the outage inside it. */
export async function managedStage(run: Run, fixture: Fixture): Promise<void> {
  const facts = emptyManaged(fixture);
  const recovery = emptyRecovery();
  run.facts.managed = facts;
  facts.baseline = await nativeTests(run, fixture, "fixed");
  check(stageCode(judgeManagedTurn({ managed: facts, recovery: null }).slice(0, 1)));
  run.facts.recovery = recovery;
  const attempt = await claimAttempt(run, fixture, facts);
  await bindUnlessRunnerGone(run, attempt, recovery);
  const runId = recovery.bound.run_id ?? "";
  await untilOutage(run, recovery, runId);
  await restartServer(run, recovery);
  await confirmIdentity(run, recovery);
  const last = await afterOutage(run, recovery, runId);
  const reconciled = await reconcile(run, recovery, "reconciled_at_end");
  run.book.managed["terminal_binding"] = bindingOf(reconciled);
  const terminal = isRecord(last["terminal"]) ? last["terminal"] : {};
  facts.final_state = wordOf(last["state"]);
  facts.task_state = wordOf(reconciled["task_state"]);
  facts.stop_reason = wordOf(terminal["stop_reason"]);
  facts.error_code = wordOf(terminal["error_code"]);
  run.facts.audit = readAuditFacts(run);
  recovery.runs_admitted = runsAdmitted(run);
  check(stageCode(judgeManagedTurn({ managed: facts, recovery })));
  const seats = run.book.report["seats"] as Parameters<typeof judgeAudit>[1];
  check(stageCode(judgeAudit(run.facts.audit, seats, recovery.runs_admitted)));
  await inspectWork(run, fixture, facts);
  check(stageCode(judgeManagedWork(facts)));
  recordSuccess(run, fixture);
}

async function claimAttempt(run: Run, fixture: Fixture, facts: ManagedFacts): Promise<Fields> {
  const operator = operatorOf(run);
  const identity = await operator.tool("create_agent_identity", {
    handle: "codex-acceptance",
    display_name: "Codex acceptance executor",
    idempotency_key: "codex-bidirectional-agent",
  });
  const agentId = textIn(identity, "agent", "agent_id");
  const mark = newCanary("task-instruction", "prompt");
  run.canaries.push(mark);
  const task = await operator.tool("create_agent_task", {
    title: `Implement and verify ${fixture.language === "python" ? "Python" : "TypeScript"} clamp`,
    instruction: instruction(fixture, mark.text),
    assignee_agent_id: agentId,
    referenced_project_id: run.services.project,
    idempotency_key: "codex-bidirectional-clamp",
  });
  const taskId = textIn(task, "task", "summary", "task_id");
  const attempt = await operator.tool("start_agent_task_attempt", {
    task_id: taskId,
    assignee_agent_id: agentId,
    idempotency_key: "codex-bidirectional-clamp-attempt",
  });
  const record = isRecord(attempt["attempt"]) ? attempt["attempt"] : {};
  Object.assign(run.book.managed, {
    agent_id: agentId,
    task_id: taskId,
    attempt_id: textIn(record, "attempt_id"),
    attempt_ref: textIn(attempt, "attempt_ref"),
    attempt_controller_generation: record["attempt_controller_generation"] ?? null,
    baseline_expected_failure: facts.baseline,
  });
  writePrivateJson(join(run.space.private, "attempt.json"), attempt);
  run.book.checkpoint("attempt_claimed");
  return attempt;
}

/** A start that is refused because the runner has ended is the runner's end, not the server's refusal. */
async function bindUnlessRunnerGone(run: Run, attempt: Fields, recovery: RecoveryFacts): Promise<void> {
  try {
    await bindRun(run, attempt, recovery);
  } catch (error) {
    const refused = error instanceof Failure && error.code.startsWith("tool_");
    const gone = () => run.services.runner?.running() !== true;
    if (!refused || !(await holdsWithin(gone, { withinMs: harnessLimits.runnerGoneMs, everyMs: 20 }))) throw error;
    recovery.runner_ended = "before_restart";
    check("runner_exited_before_restart");
  }
}

async function bindRun(run: Run, attempt: Fields, recovery: RecoveryFacts): Promise<void> {
  const operator = operatorOf(run);
  const { book } = run;
  const params = {
    project: run.services.project,
    provider_id: "codex",
    attempt_ref: attempt["attempt_ref"],
    timeout_secs: run.options.timeoutS,
  };
  const binding = await operator.tool("start_agent_task_coding_run", params);
  recovery.bound = {
    task_id: wordOf(book.managed["task_id"]),
    attempt_id: wordOf(book.managed["attempt_id"]),
    run_id: textIn(binding, "run_id"),
  };
  book.managed["initial_binding"] = bindingOf(binding);
  book.checkpoint("coding_run_bound");
  // The same start on purpose: equal ids prove no single prompt, that is counted after completion.
  const replay = await operator.tool("start_agent_task_coding_run", params);
  recovery.replay_run_id = wordOf(replay["run_id"]);
  if (recovery.replay_run_id !== recovery.bound.run_id) check("binding_replay_changed_run");
  book.recovery["exact_binding_replay_same_run"] = true;
}

async function untilOutage(run: Run, recovery: RecoveryFacts, runId: string): Promise<void> {
  const { book } = run;
  try {
    const { phase } = await observeBeforeRestart(runId, {
      ...observationPorts(run, recovery, "observing_before_server_restart"),
      withinMs: run.limits.observationDeadlineMs,
    });
    recovery.phase_before_disconnect = phase;
    book.recovery["phase_before_disconnect"] = phase;
    if (phase !== "in_flight") {
      recovery.ended_in_journal = endedInJournal(run, runId);
      book.recovery["failure"] = "in_flight_restart_not_observed";
    }
    book.checkpoint("before_server_restart");
  } catch (error) {
    noteEnd(recovery, error, "before_restart");
    throw error;
  }
}

async function restartServer(run: Run, recovery: RecoveryFacts): Promise<void> {
  const { services, book } = run;
  recovery.old_server_pid = services.server?.pid ?? null;
  recovery.runner_pid_before = services.runner?.pid ?? null;
  await stopService(run, services.server);
  checkRunnerSurvived(run, recovery);
  try {
    await startServer(run);
    await waitReady(run, services.project);
  } catch (error) {
    // A runner that took a moment longer to end is what keeps the pair from being ready.
    checkRunnerSurvived(run, recovery);
    throw error;
  }
  await operatorOf(run).initialize();
  recovery.new_server_pid = services.server?.pid ?? null;
  recovery.runner_pid_after = services.runner?.pid ?? null;
  Object.assign(book.recovery, {
    old_server_pid: recovery.old_server_pid,
    new_server_pid: recovery.new_server_pid,
    preserved_runner_pid: recovery.runner_pid_after,
    same_server_data: run.space.data,
    new_server_process: recovery.new_server_pid !== recovery.old_server_pid,
  });
  openGate(run);
}

function checkRunnerSurvived(run: Run, recovery: RecoveryFacts): void {
  if (run.services.runner?.running() === true) return;
  recovery.runner_ended = "server_stop";
  check("runner_did_not_survive_server_stop");
}

async function confirmIdentity(run: Run, recovery: RecoveryFacts): Promise<void> {
  const read = await operatorOf(run).tool("read_agent_task", { task_id: recovery.bound.task_id });
  recovery.task_id_after_restart = textIn(read, "task", "summary", "task_id");
  if (recovery.task_id_after_restart !== recovery.bound.task_id) check("server_restart_changed_task");
  await reconcile(run, recovery, "reconciled");
  run.book.checkpoint("server_recovered_original_run");
}

async function afterOutage(run: Run, recovery: RecoveryFacts, runId: string): Promise<Fields> {
  try {
    return await observeAfterRestart(runId, {
      ...observationPorts(run, recovery, "observing_original_run"),
      withinMs: run.limits.observationDeadlineMs + run.limits.recoveryExtraMs,
    });
  } catch (error) {
    noteEnd(recovery, error, "after_restart");
    throw error;
  }
}

async function reconcile(run: Run, recovery: RecoveryFacts, slot: "reconciled" | "reconciled_at_end"): Promise<Fields> {
  const { task_id, attempt_id } = recovery.bound;
  const answer = await operatorOf(run).tool("reconcile_agent_task_coding_run", { task_id, attempt_id });
  const seen: ExecutionIds = {
    task_id: wordOf(answer["task_id"]),
    attempt_id: wordOf(answer["attempt_id"]),
    run_id: wordOf(answer["run_id"]),
  };
  recovery[slot] = seen;
  if (!sameExecution(recovery.bound, seen)) check("recovery_changed_execution_identity");
  return answer;
}

function observationPorts(run: Run, recovery: RecoveryFacts, phase: ReportPhase) {
  const { book } = run;
  return {
    observe: (request: Fields) => Promise.race([operatorOf(run).tool("observe_coding_agent", request), run.stopped]),
    runnerRunning: () => run.services.runner?.running() === true,
    steps: recovery.observations,
    stored: () => {
      const last = recovery.observations.at(-1);
      Object.assign(book.managed, {
        states: statesOf(recovery.observations),
        event_kinds: eventKinds(recovery.observations),
        last_run_state: last?.state,
      });
      if (last?.when === "before_restart") {
        book.recovery["run_state_before_disconnect"] = last.state;
        book.recovery["execution_state_before_disconnect"] = last.execution_state;
      }
      book.checkpoint(phase);
    },
  };
}

function noteEnd(recovery: RecoveryFacts, error: unknown, when: "before_restart" | "after_restart"): void {
  const code = error instanceof Failure ? error.code : "";
  if (code.endsWith("_observation_deadline")) recovery.observation_deadline = when;
  if (code.startsWith("runner_exited_")) recovery.runner_ended = when === "before_restart" ? when : "during_run";
}

function recordSuccess(run: Run, fixture: Fixture): void {
  const { book, facts } = run;
  const { managed, audit, recovery } = facts;
  Object.assign(book.managed, {
    passed: true,
    fixed_tests_unchanged: true,
    all_tests: managed?.all_tests,
    additional_tests: managed?.additional_tests,
    implementation_sha256: managed?.hashes_after_tests?.implementation,
    implementation_diff_sha256: managed?.diff_sha256,
    changed_tracked_files: managed?.changed_tracked,
    model_configuration_observed: { model: acceptanceModel, reasoning_effort: acceptanceEffort },
    adapter_identity: audit?.identities,
    execution_completion: true,
    business_acceptance: true,
    language: fixture.language,
  });
  const inFlight = recovery?.phase_before_disconnect === "in_flight";
  Object.assign(book.recovery, {
    passed: inFlight,
    same_task_attempt_run: true,
    adapter_processes: audit?.adapter_processes,
    actual_prompt_dispatches: audit?.prompts.length,
    recovery_layer: "real-server-process-and-runner-acp",
    lease_expiry_tested: false,
  });
  book.checkpoint(inFlight ? "managed_and_recovery_accepted" : "managed_accepted_recovery_incomplete");
}

function instruction(fixture: Fixture, mark: string): string {
  const python = fixture.language === "python";
  const tests = python ? "unittest test file named test_*.py" : "test file named *.test.ts with bun:test";
  return [
    `Write clamp(value, lower, upper) in ${fixture.implementation}: give value, held inclusively between lower and upper, and raise ${python ? "ValueError" : "a RangeError"} when lower is greater than upper.`,
    `Read ${fixture.fixedTest} first and leave that file as it is. Add one further small ${tests} for one more case, run the tests, and say in short how they ended.`,
    "Work only inside this disposable git project with the standard library. Install nothing, use no network and no credentials, ask for no further permission, delegate nothing, and create no WebCodex lifecycle object.",
    "Change no other file that exists already.",
    `Do not repeat this ${mark}.`,
  ].join("\n");
}

function emptyManaged(fixture: Fixture): ManagedFacts {
  return {
    baseline: null,
    fixed_tests_expected: harnessLimits.fixedTests,
    final_state: null,
    task_state: null,
    stop_reason: null,
    fixed_before: fixture.fixedBefore,
    fixed_after: null,
    additional_tests: null,
    suspicious_files: null,
    fixed_tests: null,
    all_tests: null,
    hashes_before_tests: null,
    hashes_after_tests: null,
    changed_tracked: null,
    implementation_name: fixture.implementation,
    diff_sha256: null,
  };
}

function emptyRecovery(): RecoveryFacts {
  return {
    bound: { task_id: null, attempt_id: null, run_id: null },
    replay_run_id: null,
    observations: [],
    observation_deadline: null,
    phase_before_disconnect: null,
    runner_ended: null,
    old_server_pid: null,
    new_server_pid: null,
    runner_pid_before: null,
    runner_pid_after: null,
    task_id_after_restart: null,
    reconciled: null,
    reconciled_at_end: null,
  };
}

function check(code: JudgeCode | string | undefined): void {
  if (code !== undefined) throw new Failure(code);
}

function wordOf(value: unknown): string | null {
  return typeof value === "string" ? value.slice(0, 200) : null;
}
