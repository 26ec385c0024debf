// Binding, observation, restart and identity: an honest outage holds, each change breaks exactly the one code.
import { expect, test } from "bun:test";
import type { RecoveryFacts } from "../../src/contract/report.ts";
import {
  decideStep,
  eventKinds,
  judgeRecovery,
  observationCode,
  observationEnds,
  sameExecution,
} from "../../src/judge/recovery.ts";
import { stageCode } from "../../src/judge/verdict.ts";
import { lastStep, recoveryFacts, step } from "./managed-subject.ts";

const codeOf = (change: Partial<RecoveryFacts>) => stageCode(judgeRecovery(recoveryFacts(change)));
const terminal = ["completed", "failed", "cancelled", "lost"];

test("an honest outage holds every rule", () => {
  expect(judgeRecovery(recoveryFacts()).filter((rule) => rule.outcome !== "pass")).toEqual([]);
});

test("H171 H172 H173 H174 H175: the decision over every pair of states", () => {
  for (const state of ["starting", "running", "waiting_permission", ...terminal])
    for (const execution of ["not_started", "started", "completed", "outcome_unknown"]) {
      const decision = decideStep(step({ state, execution_state: execution }));
      const phase = decision.kind === "decided" ? decision.phase : decision.kind;
      const expected =
        execution === "outcome_unknown"
          ? "outcome_unknown"
          : terminal.includes(state)
            ? execution === "not_started"
              ? "before_prompt"
              : "terminal"
            : state === "waiting_permission"
              ? "waiting_permission"
              : state === "running" && execution === "started"
                ? "in_flight"
                : "wait";
      expect([state, execution, phase]).toEqual([state, execution, expected]);
    }
  const blind = decideStep(step({ state: "starting", execution_state: "not_started", has_token: false }));
  expect(blind).toEqual({ kind: "refused", code: "recovery_observation_token_missing" });
});

test("H166 H167 H168: an answer for another run, unknown states, history that is not plainly whole", () => {
  expect(observationCode(step(), "run_1")).toBeNull();
  expect(observationCode(step({ run_id: "run_2" }), "run_1")).toBe("recovery_observed_wrong_run");
  expect(observationCode(step({ run_id: null }), null)).toBe("recovery_observed_wrong_run");
  for (const change of [{ state: "odd" }, { state: null }, { execution_state: "odd" }, { execution_state: null }])
    expect(observationCode(step(change), "run_1")).toBe("recovery_execution_state_missing");
  for (const history_lost of [true, null])
    expect(observationCode(step({ history_lost }), "run_1")).toBe("managed_event_history_lost");
});

test("H186: after the restart only a terminal state with no more events ends the loop", () => {
  expect(observationEnds(lastStep)).toBe(true);
  expect(observationEnds({ ...lastStep, has_more: true })).toBe(false);
  expect(observationEnds(step())).toBe(false);
});

test("H161: another run for the repeated start", () => {
  expect(codeOf({ replay_run_id: "run_2" })).toBe("binding_replay_changed_run");
});

test("H163 H184: a deadline before or after the restart is incomplete, not a failure", () => {
  const waiting = step({ state: "starting", execution_state: "not_started" });
  const before = recoveryFacts({
    observations: [waiting],
    observation_deadline: "before_restart",
    phase_before_disconnect: null,
  });
  expect(stageCode(judgeRecovery(before))).toBe("recovery_observation_deadline");
  const after = recoveryFacts({
    observations: [step(), { ...lastStep, state: "running" }],
    observation_deadline: "after_restart",
  });
  expect(stageCode(judgeRecovery(after))).toBe("managed_observation_deadline");
  for (const facts of [before, after]) expect(judgeRecovery(facts).some((rule) => rule.outcome === "fail")).toBe(false);
});

test("H164 H178 H185: a runner that ended, by the moment it did", () => {
  expect(codeOf({ runner_ended: "before_restart" })).toBe("runner_exited_before_restart");
  expect(codeOf({ runner_ended: "server_stop" })).toBe("runner_did_not_survive_server_stop");
  expect(codeOf({ runner_pid_after: 151 })).toBe("runner_did_not_survive_server_stop");
  expect(codeOf({ runner_ended: "during_run" })).toBe("runner_exited_during_run");
  expect(codeOf({ observations: [step(), { ...lastStep, run_id: "run_2" }] })).toBe("recovery_observed_wrong_run");
  expect(codeOf({ observations: [step(), { ...lastStep, history_lost: true }] })).toBe("managed_event_history_lost");
});

test("H181 H182 H187 O036: task, attempt and run keep their ids, in both reconciliations", () => {
  const bound = { task_id: "task_1", attempt_id: "attempt_1", run_id: "run_1" };
  expect(codeOf({ task_id_after_restart: "task_2" })).toBe("server_restart_changed_task");
  for (const key of ["task_id", "attempt_id", "run_id"] as const) {
    expect(codeOf({ reconciled: { ...bound, [key]: "other" } })).toBe("recovery_changed_execution_identity");
    expect(codeOf({ reconciled_at_end: { ...bound, [key]: "other" } })).toBe("recovery_changed_execution_identity");
    expect(sameExecution({ ...bound, [key]: null }, { ...bound, [key]: null })).toBe(false);
  }
});

test("H176 H204 O037 O038: every phase but in_flight leaves the outage unproven, and is incomplete", () => {
  for (const [phase, state, execution_state] of [
    ["terminal", "completed", "completed"],
    ["before_prompt", "failed", "not_started"],
    ["waiting_permission", "waiting_permission", "started"],
    ["outcome_unknown", "running", "outcome_unknown"],
  ] as const) {
    const facts = recoveryFacts({
      observations: [step({ state, execution_state }), lastStep],
      phase_before_disconnect: phase,
    });
    const rule = judgeRecovery(facts).find((one) => one.rule === "recovery_in_flight");
    expect([phase, rule?.outcome, rule?.code]).toEqual([phase, "incomplete", "in_flight_restart_not_observed"]);
  }
  expect(codeOf({ new_server_pid: 100 })).toBe("in_flight_restart_not_observed");
});

test("a phase that the last answer does not come to is not believed", () => {
  const facts = recoveryFacts({
    observations: [step({ state: "starting", execution_state: "not_started" }), lastStep],
  });
  expect(judgeRecovery(facts).find((rule) => rule.rule === "recovery_observation")?.outcome).toBe("incomplete");
});

test("H169: events are counted by kind over all answers", () => {
  const kinds = eventKinds([step({ events: { agent_message: 1 } }), step({ events: { agent_message: 2, plan: 1 } })]);
  expect(kinds).toEqual({ agent_message: 3, plan: 1 });
});

test("nothing recorded is incomplete", () => {
  expect(new Set(judgeRecovery(null).map((rule) => rule.outcome))).toEqual(new Set(["incomplete"]));
});
