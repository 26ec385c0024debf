// The shipped hook against the real server: bursts, ill servers, what a report may never become, and what reading
// the saved state leaves unchanged.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { checkData } from "../../src/server/operator.ts";
import { bootstrap, type Json, post } from "../server/served.ts";
import { type Ran, runBinary } from "../support/run-binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { moodyFront } from "./moody-front.ts";
import { type Plane, type PlaneDesk, plane } from "./plane.ts";

let p: Plane;
beforeAll(async () => {
  p = await plane();
}, 120_000);
afterAll(async () => {
  await p[Symbol.asyncDispose]();
}, 60_000);

const observe = (d: PlaneDesk, call: string, words: readonly string[] = []) =>
  runBinary(["hook", "observe", "--config", d.configPath, ...words], { stdin: Buffer.from(d.payload(call)) });
const flush = (d: PlaneDesk) => runBinary(["hook", "observe", "--config", d.configPath, "--flush"]);
const line = (run: Ran) => JSON.parse(run.stdout || run.stderr) as Json;
const ledger = (sessionId: string) => {
  const db = new Database(`${p.folder}/data/${databaseName()}`, { readonly: true });
  try {
    return db.query("SELECT * FROM session_events WHERE session_id = ? ORDER BY sequence").all(sessionId);
  } finally {
    db.close();
  }
};
const databaseName = () => readdirSync(`${p.folder}/data`).find((name) => /\.(db|sqlite3?)$/.test(name))!;

test("16 hook processes at one moment are 16 rows after at most one flush (O046, O109)", async () => {
  const d = p.desk(await p.session());
  const calls = Array.from({ length: 16 }, (_, at) => `call-${at}`);

  const runs = await Promise.all(calls.map((call) => observe(d, call)));
  const last = await flush(d);
  const rows = await p.rows(d.sessionId);

  expect(runs.map((run) => [run.code, run.stdout])).toEqual(calls.map(() => [0, ""]));
  expect([last.code, line(last)["status"]]).toEqual([0, "recorded"]);
  expect(new Set(rows.map((row) => row["event_id"])).size).toBe(16);
  expect(rows).toHaveLength(16);
  expect(d.pending()).toEqual([]);
}, 120_000);

test("a server that is down, slow or answers HTML loses nothing: one flush later every report is there once", async () => {
  await using front = await moodyFront(p.url);
  const d = p.desk(await p.session(), "local-moody", front.url);

  const kept: Ran[] = [];
  for (const mood of ["down", "html", "slow"] as const) {
    front.mood = mood;
    kept.push(await observe(d, `call-${mood}`));
  }
  const waiting = d.pending().length;
  front.mood = "well";
  const last = await flush(d);
  const rows = await p.rows(d.sessionId);

  expect(kept.map((run) => [run.code, line(run)["status"], line(run)["saved"]])).toEqual(
    Array(3).fill([1, "incomplete", true]),
  );
  expect(waiting).toBe(3);
  expect([last.code, line(last)["acknowledged"]]).toEqual([0, 3]);
  expect(new Set(rows.map((row) => row["event_id"])).size).toBe(3);
  expect(rows).toHaveLength(3);
}, 120_000);

test("a report never becomes a tool call, a job or a validation, and leaves no event and no change of a Goal (O056, O067, O111)", async () => {
  const sessionId = await p.session();
  const goal = await p.call("create_goal", { title: "g", objective: "o", idempotency_key: sessionId });
  const goal_id = goal.output.goal.summary.goal_id;
  await p.call("associate_goal_session", { goal_id, session_id: sessionId });
  const d = p.desk(sessionId);
  const before = await stateOf(sessionId, goal_id);

  const runs = [await observe(d, "one"), await observe(d, "two")];
  await post(`${p.url}/api/tools/call`, { tool: "record_external_observation", params: exitCode(sessionId, 0) }, p.ann);
  const after = await stateOf(sessionId, goal_id);
  const listed = await p.mcp("list_external_observations", { project: p.project, session_id: sessionId });

  expect(runs.map((run) => run.code)).toEqual([0, 0]);
  expect(after.brief.external_observations).toMatchObject({ total: 3, unknown_count: 2 });
  // Everything but the reports' own section is as it was: no event, no job, no validation, no progress.
  expect({ ...after, brief: { ...after.brief, external_observations: null } }).toEqual({
    ...before,
    brief: { ...before.brief, external_observations: null },
  });
  expect(after.tasks.output.tasks).toEqual([]);
  expect(listed.structuredContent.output.provenance).toBe("external_report");
  expect(listed.structuredContent.output.coverage.complete).toBe(false);
}, 120_000);

const exitCode = (session_id: string, exit_code: number) => ({
  ...{ project: p.project, session_id, observed_tool: "Bash", exit_code },
  ...{ adapter_id: "a".repeat(64), event_id: "e".repeat(64) },
});

async function stateOf(session_id: string, goal_id: string): Promise<Json> {
  const handoff = await p.call("read_session_handoff", { session_id });
  return {
    brief: handoff.output.handoff_brief,
    events: ledger(session_id),
    goal: (await p.call("get_goal", { goal_id })).output.goal,
    tasks: await p.call("list_agent_tasks", {}),
    messages: (await p.call("list_session_messages", { session_id })).output.messages,
  };
}

test("the hidden read gives the public projection, names no recorder, and moves neither ledger nor Goal (O114, O115, O116)", async () => {
  const session_id = await p.session("count the owls");
  const goal = await p.call("create_goal", { title: "g", objective: "o", idempotency_key: session_id });
  const goal_id = goal.output.goal.summary.goal_id;
  await p.call("associate_goal_session", { goal_id, session_id });
  const d = p.desk(session_id);
  await observe(d, "one");
  const before = { events: ledger(session_id), goal: (await p.call("get_goal", { goal_id })).output.goal };

  const shown = await p.call("read_session_handoff", {
    ...{ session_id, include_workspace: false, include_validation: false },
  });
  const hidden = await p.call("get_session_handoff_state", { project: p.project, session_id });
  const recorded = await post(
    `${p.url}/api/tools/call`,
    {
      tool: "get_session_handoff_state",
      params: { project: p.project, session_id },
      recording_session_id: session_id,
    },
    p.ann,
  );
  const read = await runBinary(["handoff", "read", "--config", d.configPath], { cwd: p.root });
  const after = { events: ledger(session_id), goal: (await p.call("get_goal", { goal_id })).output.goal };

  expect(hidden.output.handoff_brief).toEqual(shown.output.handoff_brief);
  expect(recorded).toEqual(hidden);
  expect(Object.keys(hidden)).toEqual(["success", "output"]);
  expect(Object.keys(hidden.output).sort()).toEqual([
    ...["acceptance", "goal_context", "handoff_brief", "project", "session_id"],
  ]);
  expect(JSON.parse(read.stdout).handoff_brief).toEqual(shown.output.handoff_brief);
  expect(after).toEqual(before);
}, 120_000);

test("the real server over /api/tools/call: credential, replay, conflict, reopening, capacity and a read that records nothing (O076, O170)", async () => {
  const session_id = await p.session();
  const params = exitCode(session_id, 3);
  const record = (more: Json = {}, token = p.ann) =>
    post(`${p.url}/api/tools/call`, { tool: "record_external_observation", params: { ...params, ...more } }, token);

  const stranger = await record({}, bootstrap.replace("b", "c"));
  const first = await record();
  const replay = await record();
  const conflict = await record({ exit_code: 4 });
  await p.endServer("SIGKILL");
  await p.startServer();
  const reopened = await record();
  const fill = Array.from({ length: 255 }, (_, at) => record({ event_id: at.toString(16).padStart(64, "0") }));
  const filled = await Promise.all(fill);
  const over = await record({ event_id: "f".repeat(64) });
  const events = ledger(session_id);
  const read = await p.call("get_session_handoff_state", { project: p.project, session_id });

  expect(stranger.success).not.toBe(true);
  expect([first.output.inserted, replay.output.inserted, reopened.output.inserted]).toEqual([true, false, false]);
  expect([replay.output.observation, reopened.output.observation]).toEqual(Array(2).fill(first.output.observation));
  expect(conflict.output.error_kind).toBe("external_observation_conflict");
  expect(filled.every((answer) => answer.output.inserted === true)).toBe(true);
  expect(over.output.error_kind).toBe("external_observation_capacity");
  expect(read.output.session_id).toBe(session_id);
  expect(ledger(session_id)).toEqual(events);
}, 120_000);

test("a server killed amid reports has each whole or not at all: row, key and counts agree (O058)", async () => {
  const session_id = await p.session();
  const id = (at: number) => (at + 1).toString(16).padStart(64, "0");
  const send = (at: number) =>
    post(
      `${p.url}/api/tools/call`,
      { tool: "record_external_observation", params: { ...exitCode(session_id, 0), event_id: id(at) } },
      p.ann,
    );
  const acknowledged = new Set<number>();
  let next = 0;
  for (let kill = 0; kill < 3; kill += 1) {
    const end = next + 40;
    const work = async () => {
      while (next < end) {
        const at = next++;
        try {
          if ((await send(at)).success === true) acknowledged.add(at);
        } catch {
          // The killed server answered nothing: this report is in doubt, and so is nothing else.
          return;
        }
        if (acknowledged.size % 40 === 17 + kill) return p.endServer("SIGKILL");
      }
    };
    await Promise.all([work(), work(), work(), work()]);
    await p.endServer("SIGKILL");
    expect(countsIn(session_id)).toMatchObject({ equal: true });
    await p.startServer();
  }
  const before = new Set((await p.rows(session_id)).map((row) => row["event_id"]));
  const again = await Promise.all(Array.from({ length: next }, (_, at) => send(at)));

  for (const at of acknowledged) expect(before.has(id(at))).toBe(true);
  expect(again.map((answer, at) => answer.output.inserted === !before.has(id(at)))).toEqual(Array(next).fill(true));
  expect(checkData(`${p.folder}/data`).sound).toBe(true);
}, 240_000);

/** The three places one report is counted in, read from the killed server's file. */
function countsIn(session_id: string): Json {
  const db = new Database(`${p.folder}/data/${databaseName()}`);
  try {
    const one = (sql: string, ...values: string[]) => (db.query(sql).get(...values) as { n: number } | null)?.n ?? 0;
    const rows = one("SELECT count(*) AS n FROM external_observations WHERE session_id = ?", session_id);
    const counted = one("SELECT total AS n FROM session_observation_counts WHERE session_id = ?", session_id);
    const all = one("SELECT count(*) AS n FROM external_observations");
    const total = one("SELECT value AS n FROM counters WHERE name = 'external_observations'");
    return { rows, counted, all, total, equal: rows === counted && all === total };
  } finally {
    db.close();
  }
}

test("nothing outside the operator's own folders is needed or changed, and no command writes the configuration (O077, O079)", async () => {
  await using home = await tempFolder();
  const env = { HOME: home.path, CODEX_HOME: `${home.path}/codex`, XDG_STATE_HOME: `${home.path}/xdg` };
  mkdirSync(env.CODEX_HOME);
  writeFileSync(`${env.CODEX_HOME}/config.toml`, "# theirs\n");
  const d = p.desk(await p.session());
  const missing = `${home.path}/not-there.json`;
  const everywhere = () => Array.from(new Bun.Glob("**/*").scanSync({ cwd: home.path, dot: true })).sort();
  const before = everywhere();

  const run = (words: readonly string[], input = "") =>
    runBinary(words, { env, cwd: p.root, stdin: Buffer.from(input) });
  const used = [
    await run(["hook", "observe", "--config", d.configPath], d.payload("one")),
    await run(["handoff", "read", "--config", d.configPath]),
    await run(["hook", "config", "--config", d.configPath]),
    await run(["hook", "doctor", "--config", d.configPath]),
  ];
  const absent = [
    await run(["hook", "observe", "--config", missing], d.payload("two")),
    await run(["hook", "observe", "--config", missing, "--flush"]),
    await run(["handoff", "read", "--config", missing]),
    await run(["hook", "config", "--config", missing]),
    await run(["hook", "doctor", "--config", missing]),
    await run(["experience", "list", "--config", missing]),
    await run(["recovery", "list", "--registry", missing]),
    await run(["hook", "recover", "--registry", missing], "{}"),
  ];

  expect(used.slice(0, 3).map((one) => [one.code, one.stderr.includes("incomplete")])).toEqual(
    Array(3).fill([0, false]),
  );
  expect(await p.rows(d.sessionId)).toHaveLength(1);
  expect(absent.filter((one) => one.code === 0)).toHaveLength(1);
  expect(everywhere()).toEqual(before);
}, 120_000);
