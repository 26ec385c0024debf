// A real server and a real runner with the fixture agent, each a process of its own, for tests of both.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holdsWithin } from "../../src/base/clock.ts";
import { type ProcessGroup, startGroup } from "../../src/base/process-group.ts";
import { selfCommand } from "../../src/base/self.ts";
import { projectRoot } from "./binary.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
type Json = Record<string, any>;
const bootstrap = "bootstrap-token-for-tests-0123456789";
export const patScopes =
  "runtime:read project:read project:write session:collaborate communication:read communication:manage coding_agent:run".split(
    " ",
  );

export interface PairOptions {
  readonly play: string;
  readonly forced?: Readonly<Record<string, string>>;
  /** Default 1. */
  readonly permissionSecs?: number;
  /** Default 1. */
  readonly maxRuns?: number;
}

export interface Attempt {
  readonly task_id: string;
  readonly attempt_id: string;
  readonly attempt_ref: string;
  readonly agent_id: string;
}

export class ControlPair {
  server: ProcessGroup | undefined;
  runner: ProcessGroup | undefined;
  pat = "";
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }
  readonly #folder: string;
  /** 0 until the server has chosen one; a restart takes the same again. */
  #port = 0;
  readonly #options: PairOptions;

  constructor(folder: string, options: PairOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  async start(): Promise<void> {
    for (const name of ["state", "project", "registry", "home"]) mkdirSync(join(this.#folder, name), { mode: 0o700 });
    writeFileSync(join(this.#folder, "project", "a.txt"), "one\ntwo\n");
    await this.startServer();
    await this.post("/api/users/create", { username: "ann" });
    this.pat = (await this.post("/api/tokens/create", { username: "ann", scopes: patScopes })).token;
    const agent = await this.post("/api/agent-tokens/create", { username: "ann", client_id: "box" });
    writeFileSync(join(this.#folder, "registry", "fixture.toml"), `id = "fixture"\npath = "${this.#folder}/project"\n`);
    writeFileSync(join(this.#folder, "runner.toml"), this.#toml(agent.token), { mode: 0o600 });
    await this.startRunner();
  }

  #toml(token: string): string {
    const forced = Object.entries(this.#options.forced ?? {}).map(([key, value]) => `${key} = "${value}"`);
    return [
      'transport = "websocket"',
      `server_url = "http://127.0.0.1:${this.#port}"`,
      `token = "${token}"`,
      'owner = "ann"',
      'client_id = "box"',
      `project_registry_dir = "${this.#folder}/registry"`,
      "[policy]",
      `allowed_roots = ["${this.#folder}"]`,
      "[acp]",
      `permission_timeout_secs = ${this.#options.permissionSecs ?? 1}`,
      `max_concurrent_runs = ${this.#options.maxRuns ?? 1}`,
      "[acp.forced_config]",
      ...forced,
      "[[acp.agents]]",
      'id = "fixture"',
      'name = "Fixture"',
      `executable = "${process.execPath}"`,
      `args = ["${projectRoot}fixtures/programs/acp-agent.ts"]`,
      "[acp.agents.env_from_env]",
      'ACP_PLAY = "ACP_PLAY"',
      'ACP_LOG = "ACP_LOG"',
      'PATH = "PATH"',
      "",
    ].join("\n");
  }

  /** Starts the server; a port that somebody holds for a moment is tried again. */
  async startServer(): Promise<void> {
    const end = Date.now() + 60_000;
    while (Date.now() < end) {
      this.server = this.#start(
        ["server"],
        {
          WEBCODEX_ADDR: `127.0.0.1:${this.#port}`,
          WEBCODEX_DATA: join(this.#folder, "data"),
          WEBCODEX_TOKEN: bootstrap,
        },
        "pipe",
      );
      const port = await portOf(this.server);
      if (port === null) continue;
      this.#port = port;
      return;
    }
    throw new Error("the server did not start");
  }

  /** Starts a runner once the server has noticed that the last one is gone, and waits until it is registered. */
  async startRunner(): Promise<void> {
    if (this.runner !== undefined) await this.#projectListed(false);
    this.runner = this.#start(["runner", "--config", join(this.#folder, "runner.toml")], {
      XDG_STATE_HOME: join(this.#folder, "state"),
      ACP_PLAY: this.#options.play,
      ACP_LOG: join(this.#folder, "agent.log"),
    });
    await this.projectIsThere();
  }

  projectIsThere(): Promise<void> {
    return this.#projectListed(true);
  }

  async #projectListed(wanted: boolean): Promise<void> {
    const listed = async () =>
      ((await this.call("list_projects", {})).output?.projects ?? []).some(
        (one: Json) => one.id === "agent:box:fixture",
      ) === wanted;
    if (!(await holdsWithin(listed, { withinMs: 60_000 })))
      throw new Error(`the project is ${wanted ? "not there" : "still there"}; runner runs: ${this.runner?.running()}`);
  }

  #start(words: readonly string[], env: Record<string, string>, stderr: "ignore" | "pipe" = "ignore"): ProcessGroup {
    const { command, args } = selfCommand(words);
    const home = { HOME: join(this.#folder, "home"), PATH: "/usr/bin:/bin" };
    return startGroup({ command, args, cwd: this.#folder, env: { ...home, ...env }, stderr });
  }

  async post(path: string, body: Json, token = bootstrap): Promise<Json> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Json;
  }

  call(tool: string, params: Json, token = this.pat): Promise<Json> {
    return this.post("/api/tools/call", { tool, params }, token);
  }

  /** An agent, a task of this name and an attempt, ready for its run. */
  async attempt(name = "t"): Promise<Attempt> {
    const agent = await this.call("create_agent_identity", { handle: "h", display_name: "H", idempotency_key: "a" });
    const { agent_id } = agent.output.agent;
    const task = await this.call("create_agent_task", {
      title: "T",
      instruction: "Do it",
      assignee_agent_id: agent_id,
      referenced_project_id: "agent:box:fixture",
      idempotency_key: name,
    });
    const { task_id } = task.output.task.summary;
    const started = await this.call("start_agent_task_attempt", {
      task_id,
      assignee_agent_id: agent_id,
      idempotency_key: name,
    });
    const { attempt_ref, attempt } = started.output;
    return { task_id, attempt_id: attempt.attempt_id, attempt_ref, agent_id };
  }

  startRun(attempt_ref: string, more: Json = {}): Promise<Json> {
    return this.call("start_agent_task_coding_run", {
      project: "agent:box:fixture",
      provider_id: "fixture",
      attempt_ref,
      ...more,
    });
  }

  reconcile({ task_id, attempt_id }: Attempt): Promise<Json> {
    return this.call("reconcile_agent_task_coding_run", { task_id, attempt_id });
  }

  get dataFolder(): string {
    return join(this.#folder, "data");
  }

  /** Observes from the start until the run looks as asked. */
  async observeUntil(run_id: string, wanted: (output: Json) => boolean): Promise<Json> {
    let last: Json = {};
    const seen = async () => {
      last = await this.call("observe_coding_agent", { run_id });
      return last.success === true && wanted(last.output);
    };
    if (!(await holdsWithin(seen, { withinMs: 60_000 })))
      throw new Error(`never seen: ${JSON.stringify(last)}; runner runs: ${this.runner?.running()}`);
    return last.output;
  }

  /** Waits until so many long polls wait at the server. */
  async longPolls(count: number): Promise<void> {
    const there = async () => {
      const headers = { authorization: `Bearer ${bootstrap}` };
      const text = await (await fetch(`${this.url}/metrics`, { headers })).text();
      return text.includes(`\nproctor_long_polls ${count}\n`);
    };
    if (!(await holdsWithin(there, { withinMs: 30_000 }))) throw new Error("the long polls never waited");
  }

  /** The frames that the agent got; none when it never began. */
  frames(): Json[] {
    const path = join(this.#folder, "agent.log");
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Json);
  }

  prompts(): number {
    return this.frames().filter((frame) => frame.method === "session/prompt").length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runner?.stop({ firstSignal: "SIGINT", termMs: 15_000 });
    await this.server?.stop({ firstSignal: "SIGINT", termMs: 5_000 });
  }
}

/** The port the server says it listens on, or null when it ended; its log is read on to the end. */
function portOf(group: ProcessGroup): Promise<number | null> {
  const found = Promise.withResolvers<number | null>();
  void (async () => {
    const decoder = new TextDecoder();
    let log = "";
    for await (const part of group.stderr!) {
      log = (log + decoder.decode(part, { stream: true })).slice(-65_536);
      const port = /"event":"listening","port":(\d+)/.exec(log)?.[1];
      if (port !== undefined) found.resolve(Number(port));
    }
    found.resolve(null);
  })();
  return found.promise;
}
