// A real control plane for hook tests: `proctor server` and `proctor runner` as processes of their own over one temp
// folder, one user, any number of Sessions, each with its operator's files. The server can be ended and started again
// on the same port, so that configurations stay as they are.
import { mkdirSync, readdirSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { type ProcessGroup, startGroup } from "../../src/base/process-group.ts";
import { selfCommand } from "../../src/base/self.ts";
import { bootstrap, type Json, post, serverEnvironment } from "../server/served.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { writePrivate } from "./desk.ts";

export interface PlaneDesk {
  readonly sessionId: string;
  readonly conversation: string;
  readonly state: string;
  readonly configPath: string;
  /** Writes the configuration again with other values. */
  configure(changes: Record<string, unknown>): void;
  payload(call: string, changes?: Record<string, unknown>): string;
  /** Names of the reports that wait. */
  pending(): string[];
}

export interface Plane extends AsyncDisposable {
  readonly folder: string;
  readonly root: string;
  readonly url: string;
  readonly ann: string;
  readonly project: string;
  call(tool: string, params: Json): Promise<Json>;
  /** A tool as a model calls it. */
  mcp(tool: string, params: Json): Promise<Json>;
  session(instruction?: string): Promise<string>;
  desk(sessionId: string, conversation?: string, serverUrl?: string): PlaneDesk;
  rows(sessionId: string): Promise<Json[]>;
  endServer(signal?: "SIGKILL" | "SIGINT"): Promise<void>;
  startServer(): Promise<void>;
}

export const planeProject = "agent:host:fixture";
export const planeScopes = [
  ...["runtime:read", "project:read", "project:write", "session:collaborate"],
  ...["communication:read", "communication:manage", "memory:read", "memory:manage"],
];

/** `words` go to `proctor server`. */
export async function plane(words: readonly string[] = []): Promise<Plane> {
  const dir = await tempFolder("proctor-plane-");
  const root = `${dir.path}/project`;
  mkdirSync(root);
  let { group, port } = await startServer(dir.path, { port: 0, words });
  const url = `http://127.0.0.1:${port}`;
  const { ann, runnerToken } = await makeAccounts(url);
  const runner = startRunner(dir.path, { url, runnerToken, root });
  const call = (tool: string, params: Json) => post(`${url}/api/tools/call`, { tool, params }, ann);
  const projects = async () => (await call("list_projects", {})).output?.projects ?? [];
  // A runner comes back by itself after the server did, but not at once.
  const offered = async () => {
    const there = await holdsWithin(async () => (await projects()).length > 0, { withinMs: 60_000 });
    if (!there) throw new Error("the runner offered no project");
  };
  await offered();
  return {
    folder: dir.path,
    root,
    url,
    ann,
    project: planeProject,
    call,
    mcp: (tool, params) => callAsModel(url, ann, { tool, params }),
    async session(instruction = "mend the parser") {
      await offered();
      const made = await call("work_on_project", { project: planeProject, instruction });
      return made.output.session_id as string;
    },
    desk: (sessionId, conversation = `local-${sessionId}`, serverUrl = url) =>
      deskIn(dir.path, { sessionId, conversation, serverUrl, root, ann }),
    async rows(sessionId) {
      const answer = await call("list_external_observations", { project: planeProject, session_id: sessionId });
      return answer.output.observations as Json[];
    },
    async endServer(signal = "SIGKILL") {
      group.signalLeader(signal);
      await group.exited;
    },
    async startServer() {
      ({ group } = await startServer(dir.path, { port, words }));
    },
    async [Symbol.asyncDispose]() {
      await runner.stop({ termMs: 2_000 });
      await group.stop({ firstSignal: "SIGINT" });
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function startServer(
  folder: string,
  options: { readonly port: number; readonly words: readonly string[] },
): Promise<{ group: ProcessGroup; port: number }> {
  const self = selfCommand(["server", ...options.words]);
  const env = serverEnvironment(folder, options.port);
  const group = startGroup({ ...self, cwd: folder, env, stderr: "pipe" });
  let log = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of group.stderr!) log = (log + decoder.decode(part, { stream: true })).slice(-20_000);
  })();
  const port = () => /listening\b[^\n]*?port[^0-9\n]*([0-9]+)/.exec(log)?.[1];
  await holdsWithin(() => port() !== undefined || !group.running(), { withinMs: 60_000 });
  const found = port();
  if (found === undefined) throw new Error(`the server did not start: ${log}`);
  return { group, port: Number(found) };
}

async function makeAccounts(url: string): Promise<{ ann: string; runnerToken: string }> {
  const asBootstrap = (path: string, body: Json) => post(url + path, body, bootstrap);
  await asBootstrap("/api/users/create", { username: "ann" });
  const pat = await asBootstrap("/api/tokens/create", { username: "ann", name: "hooks", scopes: planeScopes });
  const runner = await asBootstrap("/api/agent-tokens/create", { username: "ann", client_id: "host", name: "runner" });
  return { ann: pat.token, runnerToken: runner.token };
}

function startRunner(
  folder: string,
  options: { readonly url: string; readonly runnerToken: string; readonly root: string },
): ProcessGroup {
  const text = (value: unknown) => JSON.stringify(value);
  mkdirSync(`${folder}/registry`, { mode: 0o700 });
  writePrivate(`${folder}/registry/fixture.toml`, `id = "fixture"\npath = ${text(options.root)}\n`);
  const lines = [
    `server_url = ${text(options.url)}`,
    `token = ${text(options.runnerToken)}`,
    'client_id = "host"',
    'owner = "ann"',
    `project_registry_dir = ${text(`${folder}/registry`)}`,
    "[policy]",
    `allowed_roots = [${text(options.root)}]`,
  ];
  writePrivate(`${folder}/runner.toml`, `${lines.join("\n")}\n`);
  const self = selfCommand(["runner", "--config", `${folder}/runner.toml`]);
  return startGroup({ ...self, cwd: folder, env: { HOME: folder, PATH: "/usr/bin:/bin" } });
}

async function callAsModel(url: string, token: string, wanted: { tool: string; params: Json }): Promise<Json> {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "call_runtime_tool", arguments: { tool: wanted.tool, arguments: wanted.params } },
  };
  return (await post(`${url}/mcp`, body, token)).result;
}

function deskIn(
  folder: string,
  options: { sessionId: string; conversation: string; serverUrl: string; root: string; ann: string },
): PlaneDesk {
  const place = `${folder}/desk-${options.conversation}`;
  const state = `${place}/state`;
  mkdirSync(state, { recursive: true, mode: 0o700 });
  writePrivate(`${place}/auth`, `Bearer ${options.ann}\n`);
  const config = {
    server_url: options.serverUrl,
    authorization_file: `${place}/auth`,
    project: planeProject,
    project_root: options.root,
    workflow_session_id: options.sessionId,
    local_session_id: options.conversation,
    state_dir: state,
  };
  const configPath = `${place}/config.json`;
  writePrivate(configPath, JSON.stringify(config));
  return {
    sessionId: options.sessionId,
    conversation: options.conversation,
    state,
    configPath,
    configure: (changes) => writePrivate(configPath, JSON.stringify({ ...config, ...changes })),
    payload: (call, changes = {}) =>
      JSON.stringify({
        hook_event_name: "PostToolUse",
        session_id: options.conversation,
        cwd: options.root,
        tool_use_id: call,
        tool_name: "Bash",
        ...changes,
      }),
    pending: () => readdirSync(state).filter((name) => /^[0-9a-f]{64}\.json$/.test(name)),
  };
}
