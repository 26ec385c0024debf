// The operator's commands as processes of their own against a real embedded server: report, discover, recover, read.
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { type Desk, desk, runProctor, writePrivate } from "../hooks/desk.ts";
import { type LocalServer, localServer, offering } from "./local-server.ts";

const project = "agent:host:fixture";
const scopes = ["runtime:read", "project:read", "session:collaborate", "communication:read", "communication:manage"];

interface World extends AsyncDisposable {
  readonly d: Desk;
  readonly server: LocalServer;
  readonly ann: string;
  readonly session: string;
}

/** A desk whose configuration names a Session of ann on a running server. */
async function world(): Promise<World> {
  const d = await desk();
  const server = await localServer(() => offering("ann", { fixture: d.project }));
  const ann = await server.token("ann", scopes);
  const made = await server.call(ann, "work_on_project", { project, instruction: "mend the parser" });
  const session = made.output.session_id;
  writePrivate(`${d.path}/auth`, `Bearer ${ann}\n`);
  d.configure({ server_url: server.url, project, workflow_session_id: session });
  return {
    d,
    server,
    ann,
    session,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await d[Symbol.asyncDispose]();
    },
  };
}

const observe = ({ d }: World, call: string) =>
  runProctor(["hook", "observe", "--config", d.configPath], { input: d.payload({ tool_use_id: call }) });

const reports = async ({ server, ann, session }: World) =>
  (await server.call(ann, "list_external_observations", { project, session_id: session })).output.observations;

const pending = ({ d }: World) => readdirSync(d.state).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));

test("hook observe reports each call once, the same call again changes nothing, and handoff read shows it", async () => {
  await using w = await world();

  const runs = [await observe(w, "call-one"), await observe(w, "call-two"), await observe(w, "call-one")];
  const stored = await reports(w);
  const read = await runProctor(["handoff", "read", "--config", w.d.configPath], { cwd: w.d.project });

  expect(runs.map((run) => [run.code, run.stdout])).toEqual([
    [0, ""],
    [0, ""],
    [0, ""],
  ]);
  expect(stored.map((row: object) => ({ ...row, adapter_id: 0, event_id: 0, recorded_at: 0 }))).toEqual(
    Array(2).fill({ adapter_id: 0, event_id: 0, tool: "Bash", exit_code: null, recorded_at: 0, status: "unknown" }),
  );
  expect(pending(w)).toEqual([]);
  expect([read.code, read.stderr]).toEqual([0, ""]);
  expect(JSON.parse(read.stdout).handoff_brief.external_observations).toMatchObject({
    total: 2,
    unknown_count: 2,
    observations: stored,
  });
}, 120_000);

test("a report kept while the server refuses its token is delivered by the next call, and a closed Session refuses for good", async () => {
  await using w = await world();
  const { server, ann, session, d } = w;

  writePrivate(`${d.path}/auth`, `Bearer wc_pat_${"0".repeat(64)}\n`);
  const kept = await observe(w, "call-one");
  const waiting = pending(w).length;
  writePrivate(`${d.path}/auth`, `Bearer ${ann}\n`);
  const delivered = await observe(w, "call-two");
  const stored = await reports(w);
  await server.call(ann, "close_session", { session_id: session });
  const refused = await observe(w, "call-three");
  const after = await reports(w);

  expect([kept.code, waiting]).toEqual([1, 1]);
  expect([delivered.code, stored.length]).toEqual([0, 2]);
  expect(refused.code).toBe(1);
  expect(after).toEqual(stored);
}, 120_000);

test("recovery discovers the Session by its root, and an associated conversation gets the brief and the Goal", async () => {
  await using w = await world();
  const { d, server, ann, session } = w;
  const goal = await server.call(ann, "create_goal", { title: "goal", objective: "o", idempotency_key: "k" });
  const goal_id = goal.output.goal.summary.goal_id;
  await server.call(ann, "associate_goal_session", { goal_id, session_id: session });
  const registry = `${d.path}/registry.json`;
  const words = ["--registry", registry, "--project-root", d.project];
  const value = { version: 1, server_url: server.url, authorization_file: `${d.path}/auth`, state_dir: d.state };
  writePrivate(registry, JSON.stringify({ ...value, bindings: [] }));

  const found = await runProctor(["recovery", "discover", ...words]);
  const tied = await runProctor([
    ...["recovery", "associate", ...words],
    ...["--session", session, "--entry-root", d.project],
  ]);
  const recovered = await runProctor(["hook", "recover", "--registry", registry], {
    input: JSON.stringify({ hook_event_name: "SessionStart", session_id: "local-one", cwd: d.project }),
  });

  expect([found.code, found.stderr]).toEqual([0, ""]);
  expect(found.stdout).toContain(session);
  expect([tied.code, tied.stderr]).toEqual([0, ""]);
  expect(recovered.code).toBe(0);
  const context = JSON.parse(recovered.stdout).hookSpecificOutput.additionalContext as string;
  expect(context).toContain(session);
  expect(context).toContain(goal_id);
  expect(context).toContain("mend the parser");
}, 120_000);
