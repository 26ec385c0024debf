// What a runner admits, in the order it checks, and what its durable records allow after a crash. The runner is one of
// this process; the agents it would start are real programs.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { Secret } from "../../src/base/secret.ts";
import type { RunSnapshot } from "../../src/contract/runs.ts";
import { runnerLimits } from "../../src/runner/limits.ts";
import { RunJournal } from "../../src/runner/run-journal.ts";
import { Runner } from "../../src/runner/runner.ts";
import { projectRoot } from "../support/binary.ts";
import { handClock } from "../support/hand-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
type Json = Record<string, any>;

function runnerIn(folder: string, environment: Record<string, string> = { PATH: "/usr/bin:/bin", ACP_PLAY: "hang" }) {
  for (const name of ["project", "registry"]) mkdirSync(`${folder}/${name}`, { recursive: true });
  writeFileSync(`${folder}/registry/fixture.toml`, `id = "fixture"\npath = "${folder}/project"\n`);
  writeFileSync(`${folder}/registry/frozen.toml`, `id = "frozen"\npath = "${folder}/project"\nallow_patch = false\n`);
  const agent = {
    id: "fixture",
    name: "Fixture",
    executable: process.execPath,
    args: [`${projectRoot}fixtures/programs/acp-agent.ts`],
    allowed_config_options: [],
    env_from_env: { PATH: "PATH", ACP_PLAY: "ACP_PLAY" },
  };
  const config = {
    serverUrl: "http://127.0.0.1:1",
    token: Secret.from("token"),
    owner: null,
    clientId: "box",
    projectFolder: `${folder}/registry`,
    allowedRoots: [folder],
    maxConcurrentRuns: 1,
    permissionTimeoutMs: 1000,
    forcedConfig: {},
    agents: [agent],
  };
  return new Runner({ config, stateFolder: `${folder}/state`, environment });
}

function startOf(runner: Runner, folder: string, more: Json = {}): Json {
  const [provider] = runner.registration().coding_agent_providers as Array<{ provider_instance_id: string }>;
  return {
    operation: "start",
    run_id: "wc_agent_run_one",
    intent_fingerprint: "intent",
    authority_fingerprint: "auth",
    runtime_project_id: "agent:box:fixture",
    project_root: `${folder}/project`,
    provider_id: "fixture",
    provider_instance_id: provider!.provider_instance_id,
    instruction: "Do it",
    config: {},
    timeout_secs: 60,
    ...more,
  };
}

async function ask(runner: Runner, body: Json): Promise<Json> {
  const request = { type: "request", request_id: "r", kind: "coding_agent", coding_agent: body } as const;
  return (await runner.handle(request)).coding_agent as Json;
}

test("a start is refused for the provider, the project, the room and the environment, each with its code and no process", async () => {
  await using dir = await tempFolder();
  const runner = runnerIn(dir.path);
  const code = async (more: Json) => {
    const answer = await ask(runner, startOf(runner, dir.path, more));
    return [answer.dispatch_state, answer.error?.code];
  };
  const poor = runnerIn(`${dir.path}`, { PATH: "/usr/bin:/bin" });

  expect(await code({ extra: 1 })).toEqual(["not_started", "invalid_coding_agent_request"]);
  expect(await code({ provider_id: "other" })).toEqual(["not_started", "coding_agent_provider_unavailable"]);
  expect(await code({ provider_instance_id: "acp_old" })).toEqual(["not_started", "stale_coding_agent_provider"]);
  for (const more of [
    { runtime_project_id: "agent:box:none" },
    { runtime_project_id: "agent:other:fixture" },
    { runtime_project_id: "agent:box:frozen" },
    { project_root: dir.path },
    { project_root: `${dir.path}/nowhere` },
  ])
    expect([more, await code(more)]).toEqual([more, ["not_started", "stale_coding_agent_project"]]);
  const unmapped = await ask(poor, startOf(poor, dir.path));
  expect(unmapped.error.code).toBe("coding_agent_environment_unavailable");
  for (const operation of ["observe", "cancel"]) {
    const more = operation === "observe" ? { limit: 1, wait_secs: 0 } : {};
    const answer = await ask(runner, { operation, run_id: "wc_agent_run_none", ...more });
    expect(answer.error.code).toBe("unknown_coding_agent_run");
  }
});

test("one run at a time: the same start is the same run, another intent conflicts, another run finds no room", async () => {
  await using dir = await tempFolder();
  const runner = runnerIn(dir.path);
  const first = await ask(runner, startOf(runner, dir.path));
  const same = await ask(runner, startOf(runner, dir.path));
  const other = await ask(runner, startOf(runner, dir.path, { intent_fingerprint: "other" }));
  const full = await ask(runner, startOf(runner, dir.path, { run_id: "wc_agent_run_two" }));
  await runner.drain();
  const stopping = await ask(runner, startOf(runner, dir.path, { run_id: "wc_agent_run_two" }));
  const stillKnown = await ask(runner, { operation: "observe", run_id: "wc_agent_run_one", limit: 1, wait_secs: 0 });

  expect(first.payload.run).toMatchObject({ state: "starting", execution_state: "not_started" });
  expect(same.payload.run.run_id).toBe("wc_agent_run_one");
  expect(other).toMatchObject({ dispatch_state: "not_started", error: { code: "idempotency_conflict" } });
  expect(full).toMatchObject({ dispatch_state: "not_started", error: { code: "coding_agent_capacity_full" } });
  expect(stopping.error.code).toBe("coding_agent_stopping");
  expect(stillKnown.payload.observation.run.state).toBe("cancelled");
}, 60_000);

test("a record that cannot be trusted blocks its run as unknown, is left in place, and blocks no other", async () => {
  await using dir = await tempFolder();
  const before = runnerIn(dir.path);
  await ask(before, startOf(before, dir.path));
  await before.drain();
  const [root] = readdirSync(`${dir.path}/state/runner-coding-agent-runs-v1`);
  const records = `${dir.path}/state/runner-coding-agent-runs-v1/${root}`;
  const [name] = readdirSync(records);
  writeFileSync(`${records}/${name}/state.json`, "{}");

  const after = runnerIn(dir.path);
  const blocked = await ask(after, startOf(after, dir.path));
  const other = await ask(after, startOf(after, dir.path, { run_id: "wc_agent_run_two" }));
  await after.drain();

  expect(blocked).toMatchObject({
    dispatch_state: "outcome_unknown",
    error: { code: "coding_agent_durable_state_unavailable" },
  });
  expect(readFileSync(`${records}/${name}/state.json`, "utf8")).toBe("{}");
  expect(other.payload.run.state).toBe("starting");
}, 60_000);

test("an ended run's record answers a repeated start after a restart, and is gone a quarter of an hour later", async () => {
  await using dir = await tempFolder();
  const before = runnerIn(dir.path);
  await ask(before, startOf(before, dir.path));
  await before.drain();

  const after = runnerIn(dir.path);
  const replay = await ask(after, startOf(after, dir.path));
  const changed = await ask(after, startOf(after, dir.path, { intent_fingerprint: "other" }));

  expect(replay.payload.run).toMatchObject({ run_id: "wc_agent_run_one", state: "cancelled" });
  expect(changed.error.code).toBe("idempotency_conflict");
}, 60_000);

test("the journal keeps ended runs for their time, 128 records at most, and refuses what does not belong there", async () => {
  await using dir = await tempFolder();
  const clock = handClock();
  const journal = new RunJournal(dir.path, { clientId: "box", serverUrl: "http://127.0.0.1:1" });
  const seconds = Math.floor(clock.wallMs() / 1000);
  const ended = (at: number): RunSnapshot => ({
    run_id: `wc_agent_run_${at}`,
    intent_fingerprint: "i",
    authority_fingerprint: "a",
    runtime_project_id: "p",
    provider_id: "x",
    provider_instance_id: "y",
    state: "completed",
    execution_state: "completed",
    observation_revision: 3,
    created_at: seconds,
    updated_at: seconds,
    terminal: { stop_reason: "end_turn", error_code: null, message: null, completed_at: seconds },
  });
  const write = (at: number) => journal.write({ schema_version: 1, dispatch_phase: "terminal", run: ended(at) });
  for (let at = 0; at < runnerLimits.maxRecords; at += 1) write(at);

  const most = journal.scan(clock.wallMs()).length;
  write(runnerLimits.maxRecords);
  expect(() => journal.scan(clock.wallMs())).toThrow("runner_state_unreadable");
  const kept = journal.read("wc_agent_run_0");
  clock.advance(runnerLimits.recordRetentionMs + 1000);
  const old = journal.scan(clock.wallMs()).length;

  expect([most, kept?.run.run_id, old]).toEqual([runnerLimits.maxRecords, "wc_agent_run_0", 0]);
  expect(journal.read("wc_agent_run_0")).toBeNull();
  const [root] = readdirSync(`${dir.path}/runner-coding-agent-runs-v1`);
  writeFileSync(`${dir.path}/runner-coding-agent-runs-v1/${root}/stray`, "");
  expect(() => journal.scan(clock.wallMs())).toThrow("runner_state_unreadable");
  expect(existsSync(`${dir.path}/runner-coding-agent-runs-v1/${root}/stray`)).toBe(true);
});

test("an agent that cannot be started or ends at once fails its run before the prompt", async () => {
  await using dir = await tempFolder();
  const runner = runnerIn(dir.path, { PATH: "/usr/bin:/bin", ACP_PLAY: "leave" });
  await ask(runner, startOf(runner, dir.path));
  const view = () => ask(runner, { operation: "observe", run_id: "wc_agent_run_one", limit: 64, wait_secs: 0 });

  const over = await holdsWithin(async () => (await view()).payload.observation.run.terminal != null, {
    withinMs: 30_000,
  });
  const { run } = (await view()).payload.observation;
  await runner.drain();

  expect(over).toBe(true);
  expect(run).toMatchObject({ state: "failed", execution_state: "not_started" });
  expect(["coding_agent_initialize_failed", "coding_agent_initialize_write_failed"]).toContain(run.terminal.error_code);
}, 60_000);
