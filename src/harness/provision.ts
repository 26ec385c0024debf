// Users, tokens, project and runner of one run; all of it lives below the output folder.
import { join } from "node:path";
import { Failure } from "../base/failure.ts";
import { createPrivateFile, writePrivateJson } from "../base/private-files.ts";
import { selfCommand } from "../base/self.ts";
import { acceptanceEffort, acceptanceModel } from "../contract/report.ts";
import type { HarnessCode } from "./codes.ts";
import { needsModel } from "./model-seat.ts";
import type { Operator } from "./operator.ts";
import type { Run } from "./run.ts";
import { launch, operatorOf, startServer, waitReady } from "./services.ts";
import { mappedNames } from "./workspace.ts";

const username = "codex-acceptance-owner";
const clientId = "codex-acceptance-runner";
export const consumerScopes = ["runtime:read", "project:read"];
export const operatorScopes = [
  "coding_agent:run",
  "communication:manage",
  "communication:read",
  "job:run",
  "project:read",
  "project:write",
  "runtime:read",
  "session:collaborate",
];

/** Starts the server, makes users and tokens, writes the runner's files, starts it, and waits for the project. */
export async function provision(run: Run): Promise<void> {
  await startServer(run);
  const { book, services } = run;
  book.report["server_pid"] = services.server?.pid;
  const operator = operatorOf(run);
  const runnerToken = await run.bootstrap.exposeText((bootstrap) => makeAccounts(run, operator, bootstrap));
  services.project = `agent:${clientId}:fixture`;
  createPrivateFile(
    join(run.space.registry, "fixture.toml"),
    `id = "fixture"\npath = ${JSON.stringify(run.space.project)}\n`,
  );
  const { codexPath, adapterScript } = run.options;
  // A real adapter beside a stand-in consumer keeps the Codex of its own package: the stand-in cannot serve it.
  const codex = codexPath ?? (adapterScript === undefined ? run.plan.consumer.command : null);
  const env = codex === null ? run.env : { ...run.env, CODEX_PATH: codex };
  // The seed maps no TMPDIR; a real Codex without one takes the host's /tmp and litters there.
  const names = needsModel(run.options) ? [...mappedNames, "TMPDIR"] : mappedNames;
  const mapped = names.filter((name) => name in env);
  if (!mapped.includes("HOME") || !mapped.includes("PATH")) throw new Failure<HarnessCode>("codex_environment_missing");
  const config = join(run.space.private, "runner.toml");
  createPrivateFile(config, runnerConfig(run, { runnerToken, mapped }));
  run.bootstrap.exposeText((bootstrap) =>
    writePrivateJson(join(run.space.private, "recovery.json"), {
      url: services.url,
      bootstrap,
      operator_token: operator.token,
      consumer_token: run.consumerToken,
      runner_config: config,
      server_data: run.space.data,
    }),
  );
  services.runner = launch(run, "webcodex-runner", { program: run.plan.runner, args: ["--config", config], env });
  await waitReady(run, services.project);
  await operator.initialize();
  book.report["runner_pid"] = services.runner.pid;
  book.report["project"] = services.project;
  book.report["environment_mappings"] = mapped;
  book.checkpoint("services_ready");
}

async function makeAccounts(run: Run, operator: Operator, bootstrap: string): Promise<string> {
  const user = await operator.post("/api/users/create", { username }, bootstrap);
  if (user["success"] !== true) throw new Failure<HarnessCode>("local_user_provisioning_failed");
  const pat = async (scopes: readonly string[]) => {
    const body = { username, name: "continuity-smoke", scopes };
    const { token } = await operator.post("/api/tokens/create", body, bootstrap);
    if (typeof token !== "string" || token === "") throw new Failure<HarnessCode>("local_token_provisioning_failed");
    return token;
  };
  operator.token = await pat(operatorScopes);
  run.consumerToken = await pat(consumerScopes);
  const runner = { username, client_id: clientId, name: "codex-bidirectional" };
  const { token } = await operator.post("/api/agent-tokens/create", runner, bootstrap);
  if (typeof token !== "string") throw new Failure<HarnessCode>("local_runner_provisioning_failed");
  for (const [id, text] of [
    ["bootstrap", bootstrap],
    ["operator-token", operator.token],
    ["consumer-token", run.consumerToken],
    ["runner-token", token],
  ] as const)
    run.canaries.push({ id, where: "credential", text });
  return token;
}

/** The runner's configuration; every value is written as a JSON string, which TOML reads the same way. */
export function runnerConfig(run: Run, secret: { runnerToken: string; mapped: readonly string[] }): string {
  const text = (value: unknown) => JSON.stringify(value);
  const { adapter } = run.plan;
  const relay = selfCommand(["relay", "--audit", run.space.audit, "--", adapter.command, ...adapter.args]);
  return [
    `server_url = ${text(run.services.url)}`,
    `token = ${text(secret.runnerToken)}`,
    `client_id = ${text(clientId)}`,
    `owner = ${text(username)}`,
    `project_registry_dir = ${text(run.space.registry)}`,
    'transport = "websocket"',
    "[policy]",
    "allow_cwd_anywhere = false",
    "allow_raw_shell = true",
    `allowed_roots = [${text(run.space.project)}]`,
    "[acp]",
    "max_concurrent_runs = 1",
    "permission_timeout_secs = 3",
    "[acp.forced_config]",
    `model = ${text(acceptanceModel)}`,
    `reasoning_effort = ${text(acceptanceEffort)}`,
    "[[acp.agents]]",
    'id = "codex"',
    'name = "Pinned Codex ACP acceptance"',
    `executable = ${text(relay.command)}`,
    `args = ${text(relay.args)}`,
    "allowed_config_options = []",
    "[acp.agents.env_from_env]",
    ...secret.mapped.map((name) => `${name} = ${text(name)}`),
    "",
  ].join("\n");
}
