// What the hooks never do: follow a redirect, run work, choose a Session, start a read from the observer, or turn
// advice into a verdict. Proved by what servers, folders and the process table see.
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { descendantsOf } from "../../src/base/census.ts";
import { selfCommand } from "../../src/base/self.ts";
import { observe } from "../../src/hooks/observe.ts";
import { recover } from "../../src/hooks/recover.ts";
import { associate } from "../../src/hooks/recovery.ts";
import { type Asked, acknowledge, type Desk, desk, recordingServer, runProctor, writePrivate } from "./desk.ts";

const brief = (changes: object = {}) => ({
  session: { session_id: "wc_sess_fixture" },
  basis: { complete: false },
  external_observations: {
    provenance: "external_report",
    coverage: { complete: false },
    observations: [],
    unknown_count: 0,
  },
  deterministic: true,
  llm_summary: false,
  ...changes,
});

const acceptance = {
  version: 1,
  state: "ready_for_review",
  reason_codes: ["tests_passed"],
  evidence_refs: [{ kind: "report", id: "r1" }],
  truncated: false,
  advisory: true,
};

function handoffServer(d: () => Desk) {
  const world = {
    output: { project: "agent:fixture:project", session_id: "wc_sess_fixture", handoff_brief: brief() } as object,
  };
  const server = recordingServer((asked: Asked) => {
    if (asked.path.endsWith("/projects")) {
      return Response.json({
        projects: [{ id: "agent:fixture:project", path: d().project }],
        total: 1,
        truncated: false,
      });
    }
    if (asked.path.endsWith("/workflow-sessions")) {
      return Response.json({ sessions: [{ session_id: "wc_sess_fixture" }], truncated: false });
    }
    return Response.json({ success: true, output: world.output });
  });
  return { world, server };
}

async function associated(d: Desk, url: string, entryRoots: string[]): Promise<string> {
  const registryPath = `${d.path}/registry.json`;
  const value = { version: 1, server_url: url, authorization_file: `${d.path}/auth`, state_dir: d.state, bindings: [] };
  writePrivate(registryPath, JSON.stringify(value));
  await associate(
    { projectRoot: d.project, session: "wc_sess_fixture", entryRoots, localSession: "" },
    { registryPath },
  );
  return registryPath;
}

const inputOf = (value: object) => ({ bytes: Buffer.from(JSON.stringify(value)), overLimit: false, ended: true });
const startAt = (cwd: string, event = "SessionStart", conversation = "local-one") =>
  inputOf({ hook_event_name: event, session_id: conversation, cwd });

test("a redirect is not followed: the second server sees nothing and the report stays (O089)", async () => {
  for (const status of [302, 307]) {
    await using d = await desk();
    await using second = recordingServer(acknowledge);
    await using first = recordingServer(
      (asked) => new Response(null, { status, headers: { location: `${second.url}${asked.path}` } }),
    );
    d.configure({ server_url: first.url });

    const result = await observe(inputOf(JSON.parse(d.payload())), { configPath: d.configPath, deliver: "inline" });

    expect([result.status, result.saved, first.asked.length, second.asked.length]).toEqual(["incomplete", true, 1, 0]);
  }
});

test("a flush calls the recording tool only and starts no process (O004, O105, O136)", async () => {
  await using d = await desk();
  let pid = 0;
  const children: number[] = [];
  await using server = recordingServer((asked) => {
    children.push(descendantsOf([pid]).filter((row) => row.pid !== pid).length);
    return acknowledge(asked);
  });
  for (const id of ["a", "b", "c"]) {
    d.configure({ server_url: server.url });
    const input = inputOf(JSON.parse(d.payload({ tool_use_id: id })));
    const unsent = { outcome: "stopped", code: "recording_unconfirmed_check_pending_state" } as const;
    await observe(input, { configPath: d.configPath, deliver: "inline", send: async () => unsent });
  }
  const self = selfCommand(["hook", "observe", "--config", d.configPath, "--flush"]);
  const child = Bun.spawn([self.command, ...self.args], { cwd: "/", env: {}, stdin: "ignore", stdout: "pipe" });
  pid = child.pid;

  expect(await child.exited).toBe(0);
  expect(children).toEqual([0, 0, 0]);
  expect(server.asked.map((one) => one.body.tool)).toEqual(
    Array.from({ length: 3 }, () => "record_external_observation"),
  );
  expect(readdirSync(d.project)).toEqual([]);
}, 120_000);

test("a failing observer says nothing that a host could take as an answer about the tool (O110)", async () => {
  await using d = await desk("http://127.0.0.1:1");

  const failing = await runProctor(["hook", "observe", "--config", d.configPath], { input: d.payload() });
  const broken = await runProctor(["hook", "observe", "--config", `${d.path}/none.json`], { input: d.payload() });

  expect([failing.code, failing.stdout, broken.code, broken.stdout]).toEqual([1, "", 1, ""]);
}, 120_000);

test("handoff read needs its configuration, and says what success does not mean (O123, O124, O125, O127)", async () => {
  await using d = await desk();
  const { world, server } = handoffServer(() => d);
  await using _ = server;
  d.configure({ server_url: server.url });
  world.output = { ...world.output, acceptance };

  const none = await runProctor(["handoff", "read"], { cwd: d.project });
  const help = await runProctor(["handoff", "read", "--help"], { cwd: d.project });
  const read = await runProctor(["handoff", "read", "--config", d.configPath], { cwd: d.project });

  expect([none.code, read.code]).toEqual([64, 0]);
  expect(help.stdout + help.stderr).toContain("ready_for_review does not mean done");
  const result = JSON.parse(read.stdout);
  expect(result.recovery_note).toContain("current rules, files, repository state and running jobs");
  expect([result.acceptance.advisory, result.status]).toEqual([true, "read"]);
  expect([readdirSync(d.state), readdirSync(d.project)]).toEqual([[], []]);
  expect(server.asked.map((one) => one.body.tool)).toEqual(["get_session_handoff_state"]);
}, 120_000);

test("the brief's actions and task stay the guidance, and no acceptance is kept from before (O128, O129, O165, O166)", async () => {
  await using d = await desk();
  const { world, server } = handoffServer(() => d);
  await using _ = server;
  const registryPath = await associated(d, server.url, [d.project]);
  const guided = brief({ next_actions: ["look first"], task: { task_id: "wc_agent_task_1" } });
  world.output = { ...world.output, handoff_brief: guided, acceptance };
  const first = (await recover(startAt(d.project), { registryPath })).text;
  world.output = { project: "agent:fixture:project", session_id: "wc_sess_fixture", handoff_brief: guided };
  const later = await recover(startAt(d.project), { registryPath });
  const fresh = await recover(startAt(d.project, "SessionStart", "local-two"), { registryPath });

  expect([first.includes("look first"), first.includes("ready_for_review")]).toEqual([true, true]);
  for (const { text } of [later, fresh]) {
    expect([text.includes("look first"), text.includes("wc_agent_task_1")]).toEqual([true, true]);
    expect(text).not.toContain("ready_for_review");
  }
  const kept = readdirSync(d.state).filter((name) => !/^recovery-[0-9a-f]{64}\.json$/.test(name));
  expect(kept.filter((name) => name !== ".lock" && name !== "hook-ledger.ndjson")).toEqual([]);
});

test("a second confirmed checkout reads the same work and only reads (O147, O163)", async () => {
  await using d = await desk();
  const { server } = handoffServer(() => d);
  await using _ = server;
  const other = `${d.path}/checkout`;
  mkdirSync(other);
  const registryPath = await associated(d, server.url, [d.project, other]);
  const asked = server.asked.length;

  const here = await recover(startAt(d.project), { registryPath });
  const there = await recover(startAt(other, "SessionStart", "local-two"), { registryPath });

  expect([here.failed, there.failed]).toEqual([false, false]);
  expect(there.text).toContain("wc_sess_fixture");
  const tools = server.asked.slice(asked).flatMap((one) => (one.path === "/api/tools/call" ? [one.body.tool] : []));
  expect(new Set(tools)).toEqual(new Set(["get_session_handoff_state"]));
  expect([readdirSync(d.project), readdirSync(other)]).toEqual([[], []]);
});

test("a folder without an association is asked about only when several fit (O146)", async () => {
  await using d = await desk();
  const { server } = handoffServer(() => d);
  await using _ = server;
  const other = `${d.path}/other`;
  mkdirSync(other);
  const registryPath = await associated(d, server.url, [d.project]);

  const { text } = await recover(startAt(other), { registryPath });

  expect(text).toContain("ask only if several fit");
  expect(text).toContain("never by how recent it is");
});

test("a brief as large as the answer allows goes to a private snapshot, a larger one fails (O159, O160)", async () => {
  await using d = await desk();
  const { world, server } = handoffServer(() => d);
  await using _ = server;
  const registryPath = await associated(d, server.url, [d.project]);
  const at = async (chars: number) => {
    world.output = { ...world.output, handoff_brief: brief({ note: "n".repeat(chars) }) };
    return await recover(startAt(d.project), { registryPath });
  };

  for (const chars of [25_000, 120_000]) {
    const { text } = await at(chars);
    expect([text.includes("read_snapshot"), text.length < 3_000]).toEqual([true, true]);
  }
  const [name] = readdirSync(d.state).filter((one) => one.startsWith("recovery-"));
  const before = readFileSync(`${d.state}/${name}`);
  expect([statSync(`${d.state}/${name}`).mode & 0o777, before.length < 131_072]).toEqual([0o600, true]);
  const over = await at(131_072);
  expect([over.failed, JSON.parse(over.text).reason]).toEqual([true, "oversized_handoff_response"]);
  expect(readFileSync(`${d.state}/${name}`)).toEqual(before);
  await at(10);
  const unchanged = await recover(startAt(d.project, "UserPromptSubmit"), { registryPath });
  expect(unchanged.text).toContain("does not say that anybody has read it");
});
