// The three boundaries, against a real server and runner: tool calls need no lifecycle, recording makes none and moves no
// conversation, and hooks are no second way to managed work.
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { commandTable } from "../../src/commands/table.ts";
import { consumerScopes } from "../../src/harness/provision.ts";
import { bootstrap, type Json, post } from "../server/served.ts";
import { projectRoot } from "../support/binary.ts";
import { runProctor, writePrivate } from "./desk.ts";
import { type Plane, plane, planeProject } from "./plane.ts";

const waitMs = 120_000;

/** Path and digest of every file below a folder. */
function treeOf(folder: string): string[] {
  return (readdirSync(folder, { recursive: true, withFileTypes: true }) as import("node:fs").Dirent[])
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .sort()
    .map((path) => `${path} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`);
}

async function lifecycle(p: Plane): Promise<Json> {
  const sessions = await p.call("list_sessions", { project: planeProject });
  const goals = await p.call("list_goals", {});
  return { sessions: sessions.output.sessions.map((one: Json) => one.session_id), goals: goals.output.goals };
}

test(
  "recording, flushing, reading and recovering make no Session and no Goal, and leave the host's conversations alone (O003 O005)",
  async () => {
    await using p = await plane();
    const session = await p.session();
    const desk = p.desk(session);
    const home = `${p.folder}/person`;
    mkdirSync(`${home}/.codex/sessions/2026`, { recursive: true });
    const transcript = `${home}/.codex/sessions/2026/rollout.jsonl`;
    writeFileSync(transcript, '{"type":"message","text":"private words"}\n');
    writeFileSync(`${home}/.codex/config.toml`, 'model = "x"\n');
    const registry = `${p.folder}/registry.json`;
    const files = { authorization_file: `${p.folder}/auth`, state_dir: `${p.folder}/recovery-state` };
    writePrivate(files.authorization_file, `Bearer ${p.ann}\n`);
    mkdirSync(files.state_dir, { mode: 0o700 });
    writePrivate(registry, JSON.stringify({ version: 1, server_url: p.url, ...files, bindings: [] }));
    const before = [await lifecycle(p), treeOf(`${home}/.codex`)];
    const env = { HOME: home, CODEX_HOME: `${home}/.codex`, PATH: "/usr/bin:/bin" };
    const run = (words: string[], input?: string) =>
      runProctor(words, { env, cwd: p.root, ...(input === undefined ? {} : { input }) });
    const start = JSON.stringify({
      hook_event_name: "SessionStart",
      session_id: "another",
      cwd: p.root,
      transcript_path: transcript,
    });

    const payload = desk.payload("call-1", { transcript_path: transcript });
    const codes = [
      await run(["hook", "observe", "--config", desk.configPath], payload),
      await run(["hook", "observe", "--config", desk.configPath, "--flush"]),
      await run(["handoff", "read", "--config", desk.configPath]),
      await run([
        "recovery",
        "associate",
        "--registry",
        registry,
        "--project-root",
        p.root,
        "--session",
        session,
        "--entry-root",
        p.root,
      ]),
      await run(["hook", "recover", "--registry", registry], start),
    ].map((ended) => ended.code);

    expect(codes).toEqual([0, 0, 0, 0, 0]);
    expect((await p.rows(session)).length).toBe(1);
    expect([await lifecycle(p), treeOf(`${home}/.codex`)]).toEqual(before);
    expect(before[0]).toEqual({ sessions: [session], goals: [] });
  },
  waitMs,
);

test(
  "a client that only calls tools needs endpoint, scopes and an exact Project; the server lets the same token read there and nothing else (O006 O018)",
  async () => {
    await using p = await plane();
    writeFileSync(`${p.root}/a.txt`, "one\n");
    const made = await post(`${p.url}/api/tokens/create`, { username: "ann", scopes: consumerScopes }, bootstrap);
    const call = async (tool: string, args: Json) => {
      const params = { name: tool, arguments: args };
      const answer = await post(`${p.url}/mcp`, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, made.token);
      return answer.result?.structuredContent ?? answer;
    };
    const read = (project: string) => call("read_files", { project, items: [{ path: "a.txt" }] });

    // No Session, Goal, Agent, task or attempt exists, and none is named.
    const good = await read(planeProject);
    expect(good).toMatchObject({ success: true, output: { failed_count: 0 } });
    expect(JSON.stringify(good)).toContain("one\\n");
    expect(await lifecycle(p)).toEqual({ sessions: [], goals: [] });

    for (const project of ["agent:host:other", "agent:host:fixture ", "agent:host", "fixture", ""])
      expect([project, (await read(project)).success]).not.toEqual([project, true]);
    for (const [tool, args] of [
      ["work_on_project", { project: planeProject, instruction: "work" }],
      ["create_agent_identity", { handle: "x", display_name: "x", idempotency_key: "x" }],
      ["memory_set", { project: planeProject, key: "k", value: "v" }],
      ["post_session_message", { project: planeProject, session_id: "wc_sess_x", text: "t" }],
    ] as const)
      expect([tool, (await call(tool, args)).success]).not.toEqual([tool, true]);
    expect(await lifecycle(p)).toEqual({ sessions: [], goals: [] });
  },
  waitMs,
);

test("no hook, handoff, recovery or experience command can reach a run, a task or an attempt (O008)", () => {
  const folder = `${projectRoot}src/hooks`;
  const named = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => [...readFileSync(`${folder}/${name}`, "utf8").matchAll(/"([a-z]+_[a-z_]+)"/g)])
    .map((match) => match[1] ?? "");
  expect(named).toContain("record_external_observation");
  expect(
    named.filter((word) => /coding_(agent|run)|agent_(task|identity|identities)|_attempt$|cancel_/.test(word)),
  ).toEqual([]);
});

test("exporting a brief is no command (O010)", async () => {
  const words: string[] = [];
  for (const [name, load] of Object.entries(commandTable)) {
    const { default: command } = await load();
    words.push(name, ...Object.keys(command.words ?? {}), ...Object.keys(command.args));
  }
  expect(words).toContain("handoff");
  expect(words.filter((word) => /export|send|publish|share/.test(word))).toEqual([]);
});
