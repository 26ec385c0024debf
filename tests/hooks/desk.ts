// An operator's desk for hook tests: project, private state, authorization and configuration; a small server that
// answers as told; and a way to run the real hook as a process.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { selfCommand } from "../../src/base/self.ts";
import { type TempFolder, tempFolder } from "../support/temp-folder.ts";

export interface Desk extends AsyncDisposable {
  readonly path: string;
  readonly project: string;
  readonly state: string;
  readonly configPath: string;
  readonly config: Record<string, string>;
  /** Writes the configuration again with other values. */
  configure(changes: Record<string, unknown>): void;
  payload(changes?: Record<string, unknown>): string;
}

export async function desk(serverUrl = "http://127.0.0.1:12345"): Promise<Desk> {
  const folder: TempFolder = await tempFolder("proctor-hooks-");
  const [project, state, auth] = [`${folder.path}/project`, `${folder.path}/state`, `${folder.path}/auth`];
  mkdirSync(project);
  mkdirSync(state, { mode: 0o700 });
  writePrivate(auth, "Bearer fixture\n");
  const config = {
    server_url: serverUrl,
    authorization_file: auth,
    project: "agent:fixture:project",
    project_root: project,
    workflow_session_id: "wc_sess_fixture",
    local_session_id: "local-fixture",
    state_dir: state,
  };
  const configPath = `${folder.path}/config.json`;
  writePrivate(configPath, JSON.stringify(config));
  return {
    path: folder.path,
    project,
    state,
    configPath,
    config,
    configure: (changes) => writePrivate(configPath, JSON.stringify({ ...config, ...changes })),
    payload: (changes = {}) =>
      JSON.stringify({
        hook_event_name: "PostToolUse",
        session_id: "local-fixture",
        cwd: project,
        tool_use_id: "call-one",
        tool_name: "Bash",
        ...changes,
      }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

export function writePrivate(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  chmodSync(path, 0o600);
}

export interface Asked {
  readonly path: string;
  readonly authorization: string | null;
  readonly origin: string | null;
  readonly body: { readonly tool: string; readonly params: Record<string, unknown> } & Record<string, unknown>;
}

/** A server that keeps every request; `answer` decides what it says. */
export function recordingServer(answer: (asked: Asked) => Response | Promise<Response>) {
  const asked: Asked[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const one: Asked = {
        path: new URL(request.url).pathname,
        authorization: request.headers.get("authorization"),
        origin: request.headers.get("origin"),
        body: (await request.json()) as Asked["body"],
      };
      asked.push(one);
      return await answer(one);
    },
  });
  return {
    asked,
    url: `http://127.0.0.1:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** The answer that acknowledges a report, with changes to be told apart. */
export function acknowledge(asked: Asked, changes: { output?: object; observation?: object } = {}): Response {
  const { params } = asked.body;
  const observation = {
    adapter_id: params["adapter_id"],
    event_id: params["event_id"],
    tool: params["observed_tool"],
    exit_code: null,
    recorded_at: 1,
    status: "unknown",
    ...changes.observation,
  };
  return Response.json({
    success: true,
    output: {
      session_id: params["session_id"],
      project: params["project"],
      provenance: "external_report",
      inserted: true,
      observation,
      ...changes.output,
    },
  });
}

export interface HookRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the real program; its environment is empty but for what is given and, as in the printed commands, large pages. */
export async function runProctor(
  words: readonly string[],
  options: { readonly input?: string | Uint8Array; readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<HookRun> {
  const self = selfCommand(words);
  const child = Bun.spawn([self.command, ...self.args], {
    cwd: options.cwd ?? "/",
    env: { MIMALLOC_ALLOW_THP: "1", ...options.env },
    stdin: options.input === undefined ? "ignore" : new Blob([options.input as BlobPart]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}
