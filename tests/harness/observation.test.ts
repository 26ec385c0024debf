import { expect, test } from "bun:test";
import type { ObservationFact } from "../../src/contract/report.ts";
import { observeAfterRestart, observeBeforeRestart, statesOf } from "../../src/harness/observation.ts";
import { handClock } from "../support/hand-clock.ts";

type Answer = Record<string, unknown>;

function answer(state: string, execution: string, more: Answer = {}): Answer {
  return {
    run_id: "run-1",
    state,
    execution_state: execution,
    history_lost: false,
    observation_token: "token-1",
    has_more: false,
    events: [],
    ...more,
  };
}

/** A client that answers from a list (its last answer again and again), on a hand clock. */
function ports(answers: readonly Answer[], options: { everyMs?: number; runner?: () => boolean } = {}) {
  const clock = handClock();
  const requests: Answer[] = [];
  const steps: ObservationFact[] = [];
  const stored: number[] = [];
  return {
    clock,
    requests,
    steps,
    stored: (seen: readonly ObservationFact[]) => void stored.push(seen.length),
    storedCounts: stored,
    withinMs: 30_000,
    runnerRunning: options.runner ?? (() => true),
    observe: async (request: Answer) => {
      requests.push(request);
      clock.advance(options.everyMs ?? 1_000);
      return answers[Math.min(requests.length, answers.length) - 1]!;
    },
  };
}

async function codeBefore(answers: readonly Answer[], options?: Parameters<typeof ports>[1]): Promise<unknown> {
  return await observeBeforeRestart("run-1", ports(answers, options)).then(
    (found) => found.phase,
    (error) => error.code,
  );
}

async function codeAfter(answers: readonly Answer[], options?: Parameters<typeof ports>[1]): Promise<unknown> {
  return await observeAfterRestart("run-1", ports(answers, options)).then(
    (found) => found["state"],
    (error) => error.code,
  );
}

test("observeBeforeRestart() waits for execution that began, running alone is not enough (H165 H173 O035 O039)", async () => {
  const client = ports([
    answer("starting", "not_started", { observation_token: "a" }),
    answer("running", "not_started", { observation_token: "b" }),
    answer("running", "started"),
  ]);

  const found = await observeBeforeRestart("run-1", client);

  expect(found.phase).toBe("in_flight");
  expect(client.requests).toEqual([
    { run_id: "run-1", wait_secs: 1 },
    { run_id: "run-1", wait_secs: 1, after_observation_token: "a" },
    { run_id: "run-1", wait_secs: 1, after_observation_token: "b" },
  ]);
  expect(statesOf(client.steps)).toEqual(["starting", "running"]);
  expect(client.storedCounts).toEqual([1, 2, 3]);
});

test("observeBeforeRestart() names each place a run can stand (H171 H172 H174 O037 O038)", async () => {
  expect(await codeBefore([answer("running", "outcome_unknown")])).toBe("outcome_unknown");
  expect(await codeBefore([answer("failed", "outcome_unknown")])).toBe("outcome_unknown");
  expect(await codeBefore([answer("failed", "not_started")])).toBe("before_prompt");
  expect(await codeBefore([answer("completed", "completed")])).toBe("terminal");
  expect(await codeBefore([answer("waiting_permission", "started")])).toBe("waiting_permission");
});

test("observeBeforeRestart() refuses another run, unknown states and lost history (H166 H167 H168 O036 O040)", async () => {
  expect(await codeBefore([answer("running", "started", { run_id: "run-2" })])).toBe("recovery_observed_wrong_run");
  expect(await codeBefore([answer("sleeping", "started")])).toBe("recovery_execution_state_missing");
  expect(await codeBefore([answer("running", "maybe")])).toBe("recovery_execution_state_missing");
  expect(await codeBefore([answer("running", "started", { execution_state: undefined })])).toBe(
    "recovery_execution_state_missing",
  );
  expect(await codeBefore([answer("running", "started", { history_lost: true })])).toBe("managed_event_history_lost");
  expect(await codeBefore([answer("running", "started", { history_lost: undefined })])).toBe(
    "managed_event_history_lost",
  );
});

test("observeBeforeRestart() needs a token to go on (H175)", async () => {
  for (const token of [undefined, "", 7])
    expect(await codeBefore([answer("starting", "not_started", { observation_token: token })])).toBe(
      "recovery_observation_token_missing",
    );
});

test("observeBeforeRestart() ends at the deadline before a request and after a stored answer (H163 O041)", async () => {
  expect(await codeBefore([answer("starting", "not_started")])).toBe("recovery_observation_deadline");

  const late = ports([answer("running", "started")], { everyMs: 30_000 });
  expect(await observeBeforeRestart("run-1", late).catch((error) => error.code)).toBe("recovery_observation_deadline");
  expect(late.storedCounts).toEqual([1]);
});

test("observeBeforeRestart() says that the runner ended (H164)", async () => {
  expect(await codeBefore([answer("running", "started")], { runner: () => false })).toBe(
    "runner_exited_before_restart",
  );
});

test("observeAfterRestart() starts without a token and ends only when nothing waits (H183 H186 O038 O039)", async () => {
  const client = ports([
    answer("running", "started", { observation_token: "n" }),
    answer("completed", "completed", { has_more: true, observation_token: "o" }),
    answer("completed", "completed"),
  ]);

  const last = await observeAfterRestart("run-1", client);

  expect(last["state"]).toBe("completed");
  expect(client.requests).toEqual([
    { run_id: "run-1", wait_secs: 10 },
    { run_id: "run-1", wait_secs: 10, after_observation_token: "n" },
    { run_id: "run-1", wait_secs: 10, after_observation_token: "o" },
  ]);
});

test("observeAfterRestart() keeps its codes for deadline, runner, run and history (H184 H185 O036 O040 O041)", async () => {
  expect(await codeAfter([answer("running", "started")], { everyMs: 10_000 })).toBe("managed_observation_deadline");
  expect(await codeAfter([answer("running", "started")], { runner: () => false })).toBe("runner_exited_during_run");
  expect(await codeAfter([answer("running", "started", { run_id: "x" })])).toBe("recovery_observed_wrong_run");
  expect(await codeAfter([answer("lost", "outcome_unknown", { history_lost: true })])).toBe(
    "managed_event_history_lost",
  );
  expect(await codeAfter([answer("lost", "outcome_unknown")])).toBe("lost");
});
