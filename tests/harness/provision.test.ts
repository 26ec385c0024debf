// Provisioning against programs that write down how they were started and what they were asked.
import { expect, test } from "bun:test";
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGroup } from "../../src/base/process-group.ts";
import { selfCommand } from "../../src/base/self.ts";
import { createFixture } from "../../src/harness/fixture.ts";
import { failureOf } from "../../src/harness/harness.ts";
import { consumerScopes, provision } from "../../src/harness/provision.ts";
import type { Run } from "../../src/harness/run.ts";
import { summarizeAndRemoveLog } from "../../src/harness/service-log.ts";
import { mappedNames } from "../../src/harness/workspace.ts";
import { localServer } from "../server/local-server.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { type Recorded, type StageOptions, stageRun, standinProject } from "./stage-run.ts";

const waitMs = 300_000;
const failureIn = (promise: Promise<unknown>) => promise.then(() => "none", failureOf);

/** A run with its fixture made, as provisioning finds it. */
async function readyStage(folder: string, options: StageOptions = {}) {
  const stage = stageRun(folder, options);
  await createFixture(stage.run, null);
  return stage;
}

// biome-ignore lint/suspicious/noExplicitAny: a parsed file is looked into by tests.
function runnerToml(run: Run): any {
  return Bun.TOML.parse(readFileSync(join(run.space.private, "runner.toml"), "utf8"));
}

const programsOf = (rows: Recorded[], name: string) => rows.filter((row) => row["program"] === name);
const requestsOf = (rows: Recorded[]) => rows.filter((row) => row["path"] !== undefined);

test(
  "provision() makes user, tokens and files in the seed's order and notes what it started only at the end (H085 H087 H101 H102)",
  async () => {
    await using dir = await tempFolder();
    await using stage = await readyStage(dir.path);
    const { run } = stage;
    const bootstrap = run.bootstrap.exposeText((text) => text);

    await provision(run);

    const requests = requestsOf(stage.recorded());
    const after = requests.filter(({ path }) => path !== "/api/tools/call");
    expect(after.map(({ path }) => path)).toEqual([
      "/api/users/create",
      "/api/tokens/create",
      "/api/tokens/create",
      "/api/agent-tokens/create",
      "/mcp",
    ]);
    for (const { headers } of after.slice(0, 4)) expect(headers.authorization).toBe(`Bearer ${bootstrap}`);
    const [user, operator, consumer, runner, initialize] = after;
    expect(user?.["body"]).toEqual({ username: "codex-acceptance-owner" });
    const scopes: string[] = operator?.["body"].scopes;
    expect(scopes).toContain("communication:manage");
    expect(scopes).toEqual([...new Set(scopes)].sort());
    expect(scopes).toEqual([
      "coding_agent:run",
      "communication:manage",
      "communication:read",
      "job:run",
      "project:read",
      "project:write",
      "runtime:read",
      "session:collaborate",
    ]);
    expect(consumer?.["body"].scopes).toEqual(["runtime:read", "project:read"]);
    expect(runner?.["body"]).toEqual({
      username: "codex-acceptance-owner",
      client_id: "codex-acceptance-runner",
      name: "codex-bidirectional",
    });
    expect(initialize?.["body"].method).toBe("initialize");
    expect(initialize?.["headers"].authorization).toBe(`Bearer ${run.operator?.token}`);

    // The last readiness question before the handshake is the operator's own, about the project.
    const at = requests.indexOf(initialize as Recorded);
    expect(requests[at - 1]?.["body"].tool).toBe("list_projects");
    expect(requests[at - 1]?.["headers"].authorization).toBe(`Bearer ${run.operator?.token}`);
    for (const { report } of requests)
      expect(report).toEqual({ phase: "preflight", runner_pid: null, project: null, environment_mappings: null });
    const report = JSON.parse(readFileSync(join(run.space.root, "report.json"), "utf8"));
    expect(report).toMatchObject({
      phase: "services_ready",
      server_pid: run.services.server?.pid,
      runner_pid: run.services.runner?.pid,
      project: standinProject,
      environment_mappings: expect.any(Array),
    });

    // The runner found the whole file when it started, and what stands in it opens the server.
    const [started] = programsOf(stage.recorded(), "runner");
    expect(started?.["argv"]).toEqual(["--config", join(run.space.private, "runner.toml")]);
    expect(started?.["recoveryMode"]).toBe(0o600);
    expect(started?.["recovery"]).toEqual({
      url: run.services.url,
      bootstrap,
      operator_token: run.operator?.token,
      consumer_token: run.consumerToken,
      runner_config: join(run.space.private, "runner.toml"),
      server_data: run.space.data,
    });
  },
  waitMs,
);

test(
  "server and runner get an empty input and exactly the environment they are given (H046 H091)",
  async () => {
    await using dir = await tempFolder();
    const environment = {
      PATH: "/usr/bin:/bin",
      SECRET_OF_THE_HOST: "canary-4711",
      GIT_DIR: "/x",
      BUN_OPTIONS: "--smol",
    };
    await using stage = await readyStage(dir.path, { accept: { environment, codexPath: "/usr/bin/true" } });
    const { run } = stage;

    await provision(run);

    const rows = stage.recorded();
    const [server] = programsOf(rows, "server");
    const [runner] = programsOf(rows, "runner");
    const bootstrap = run.bootstrap.exposeText((text) => text);
    expect(server?.["stdin"]).toBe("");
    expect(runner?.["stdin"]).toBe("");
    expect(server?.["env"]).toEqual({
      ...run.env,
      WEBCODEX_ADDR: `127.0.0.1:${run.services.port}`,
      WEBCODEX_DATA: run.space.data,
      WEBCODEX_TOKEN: bootstrap,
    });
    expect(runner?.["env"]).toEqual({ ...run.env, CODEX_PATH: "/usr/bin/true" });
    expect(JSON.stringify([server?.["env"], runner?.["env"]])).not.toContain("canary-4711");
    for (const one of [server, runner]) {
      expect(JSON.stringify(one?.["argv"])).not.toContain(run.consumerToken);
      expect(JSON.stringify(one?.["env"])).not.toContain(run.consumerToken);
    }
  },
  waitMs,
);

test(
  "runner.toml says what the seed's says, and its agent is the relay of this executable (H089 H095 H096 H097 H098 H099)",
  async () => {
    await using dir = await tempFolder();
    const parent = join(dir.path, "parent");
    const adapter = join(dir.path, "adapter.ts");
    writeFileSync(
      adapter,
      `require("node:fs").writeFileSync(${JSON.stringify(parent)}, require("node:fs").readFileSync(\`/proc/\${process.ppid}/cmdline\`));`,
    );
    await using stage = await readyStage(dir.path, {
      plan: (all) => ({
        server: all.server(),
        runner: all.runner(),
        adapter: { command: process.execPath, args: [adapter] },
      }),
    });
    const { run } = stage;
    await provision(run);

    const file = runnerToml(run);
    expect(lstatSync(join(run.space.private, "runner.toml")).mode & 0o777).toBe(0o600);
    const { policy, acp, ...top } = file;
    expect(top).toEqual({
      transport: "websocket",
      server_url: run.services.url,
      token: "agent-token-0123456789abcdef",
      owner: "codex-acceptance-owner",
      client_id: "codex-acceptance-runner",
      project_registry_dir: run.space.registry,
    });
    expect(policy).toEqual({ allowed_roots: [run.space.project], allow_raw_shell: true, allow_cwd_anywhere: false });
    const { agents, forced_config, ...limits } = acp;
    expect(limits).toEqual({ max_concurrent_runs: 1, permission_timeout_secs: 3 });
    expect(forced_config).toEqual({ model: "gpt-5.6-luna", reasoning_effort: "medium" });
    expect(agents).toHaveLength(1);
    const [agent] = agents;
    const relay = selfCommand(["relay", "--audit", run.space.audit, "--", process.execPath, adapter]);
    expect(agent).toMatchObject({
      id: "codex",
      executable: relay.command,
      args: relay.args,
      allowed_config_options: [],
    });
    expect(agent).not.toHaveProperty("env");

    // Started as it stands there, the adapter finds the relay above itself.
    const group = startGroup({ command: agent.executable, args: agent.args, cwd: run.space.root, env: run.env });
    await group.exited;
    expect(readFileSync(parent, "utf8").split("\0").slice(0, -1)).toEqual([relay.command, ...relay.args]);
    expect(lstatSync(run.space.audit).mode & 0o777).toBe(0o600);
  },
  waitMs,
);

test(
  "only names that are there are mapped, each to itself: sixteen with an account and a full environment (H092 H094)",
  async () => {
    const everything = Object.fromEntries(mappedNames.map((name) => [name, `/canary-${name}`]));
    for (const [environment, names] of [
      [{ ...everything, PATH: "/usr/bin:/bin", OTHER: "x" }, [...mappedNames]],
      [{ HOME: "/canary-HOME", PATH: "/usr/bin:/bin", no_proxy: "canary" }, ["HOME", "PATH", "CODEX_PATH", "no_proxy"]],
    ] as const) {
      await using dir = await tempFolder();
      await using stage = await readyStage(dir.path, {
        accept: { account: true, environment, codexPath: "/usr/bin/true" },
      });

      await provision(stage.run);

      expect(stage.run.book.report["environment_mappings"]).toEqual([...names]);
      const mapped = runnerToml(stage.run).acp.agents[0].env_from_env;
      expect(mapped).toEqual(Object.fromEntries(names.map((name) => [name, name])));
      expect(readFileSync(join(stage.run.space.root, "report.json"), "utf8")).not.toContain("canary");
    }
    expect<string[]>([...mappedNames].sort()).toEqual(
      "ALL_PROXY CODEX_HOME CODEX_PATH HOME HTTPS_PROXY HTTP_PROXY NO_PROXY PATH SHELL SSL_CERT_DIR SSL_CERT_FILE USER all_proxy http_proxy https_proxy no_proxy".split(
        " ",
      ),
    );
  },
  waitMs,
);

test(
  "without an account proxies are not mapped, and HOME is the run's own",
  async () => {
    await using dir = await tempFolder();
    const environment = { HOME: "/canary", PATH: "/usr/bin:/bin", HTTPS_PROXY: "http://canary", no_proxy: "canary" };
    await using stage = await readyStage(dir.path, { accept: { environment } });

    await provision(stage.run);

    const mapped = runnerToml(stage.run).acp.agents[0].env_from_env;
    expect(Object.keys(mapped)).toEqual(["HOME", "PATH", "CODEX_HOME", "CODEX_PATH", "USER", "SHELL"]);
    expect(stage.run.env["HOME"]).toBe(stage.run.space.home);
    expect(JSON.stringify(stage.run.env)).not.toContain("canary");
  },
  waitMs,
);

test(
  "an account's run without HOME ends before a runner is started (H093)",
  async () => {
    await using dir = await tempFolder();
    const environment = { PATH: "/usr/bin:/bin" };
    await using stage = await readyStage(dir.path, {
      accept: { account: true, environment, codexPath: "/usr/bin/true" },
    });

    expect(await failureIn(provision(stage.run))).toBe("codex_environment_missing");
    expect(stage.run.services.runner).toBeNull();
    expect(existsSync(join(stage.run.space.private, "recovery.json"))).toBe(false);
  },
  waitMs,
);

test(
  "an answer without the user's success or the runner's token ends provisioning with its own code (H084 H087)",
  async () => {
    for (const [play, code] of [
      [{ user: { success: "true" } }, "local_user_provisioning_failed"],
      [{ user: {} }, "local_user_provisioning_failed"],
      [{ token: { token: "" } }, "local_token_provisioning_failed"],
      [{ agentToken: { token: 7 } }, "local_runner_provisioning_failed"],
      [{ agentToken: {} }, "local_runner_provisioning_failed"],
    ] as const) {
      await using dir = await tempFolder();
      await using stage = await readyStage(dir.path, {
        plan: (all) => ({ server: all.server(play), runner: all.runner() }),
      });

      expect(await failureIn(provision(stage.run))).toBe(code);
      expect(stage.run.services.runner).toBeNull();
    }
  },
  waitMs,
);

test("a service that cannot be started leaves a log that is summarised and gone (H047)", async () => {
  await using dir = await tempFolder();
  await using stage = await readyStage(dir.path, {
    plan: () => ({ server: { command: join(dir.path, "no-such-server"), args: [] } }),
  });
  const { run } = stage;

  expect(await failureIn(provision(run))).toBe("harness_process_start_failed");

  const [path = ""] = run.services.logs;
  expect(run.services.logs).toEqual([join(run.space.private, "webcodex-server-0.log")]);
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  expect(summarizeAndRemoveLog(path)).toMatchObject({ bytes_inspected: 0, raw_deleted: true });
  expect(readdirSync(run.space.private).filter((name) => name.endsWith(".log"))).toEqual([]);
});

test("the consumer's token holds two scopes, with which a write is refused (H086)", async () => {
  await using server = await localServer();
  const token = await server.token("ann", consumerScopes);
  const write = { handle: "h", display_name: "H", idempotency_key: "one" };

  expect(consumerScopes).toEqual(["runtime:read", "project:read"]);
  expect(await server.call(token, "list_projects", {})).toMatchObject({ success: true });
  for (const [tool, params] of [
    ["create_agent_identity", write],
    ["create_agent_task", { title: "T", instruction: "I", assignee_agent_id: "a", idempotency_key: "two" }],
    ["start_agent_task_coding_run", { project: "agent:host:one", provider_id: "codex", attempt_ref: "~ta1" }],
  ] as const)
    expect(await server.call(token, tool, params)).toMatchObject({ status: 403 });
});
