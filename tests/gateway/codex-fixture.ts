// The real Codex for the gateway's tests: its app-server and its TUI on the stand-in model, each with a home of its own.
// It is there after `npm run accept:real`, which installs the pinned one; a test that needs it skips otherwise.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import type { Scenario } from "../../src/contract/responses.ts";
import { openModel } from "../../src/standins/model.ts";
import { projectRoot } from "../support/binary.ts";
import { serve } from "./serve-fixture.ts";

/** The native program of the pinned Codex, or null. */
export const realCodex: string | null = findCodex();

function findCodex(): string | null {
  const vendor = `${projectRoot}.cache/real-clients/node_modules/@openai/codex-linux-x64/vendor`;
  if (process.platform !== "linux" || !existsSync(vendor)) return null;
  const program = readdirSync(vendor).map((target) => `${vendor}/${target}/bin/codex`);
  return program.find((path) => existsSync(path)) ?? null;
}

/** Runs a command that needs an approval, then says that it is done. */
export const approvalScenario: Scenario = {
  turns: [
    {
      items: [
        { say: "looking around", phase: "commentary" },
        { custom: "exec", input: "text(await tools.exec_command({cmd:'echo from-the-server'}));" },
      ],
    },
    {
      items: [
        {
          custom: "exec",
          input:
            "text(await tools.exec_command({cmd:'touch approved.txt && echo escalated', sandbox_permissions:'require_escalated', justification:'lab'}));",
        },
      ],
    },
    { items: [{ say: "everything is settled", phase: "final_answer" }], repeat: true },
  ],
};

/** The stand-in model, and a gateway of its own process in front of the real app-server; all end with the scope. */
export async function codexGateway(folder: string, words: readonly string[] = []) {
  const model = openModel({ scenario: approvalScenario, gate: null });
  const [server, tui, project] = [`${folder}/server`, `${folder}/tui`, `${folder}/project`];
  for (const home of [server, tui]) makeHome(home, { port: model.port, project });
  mkdirSync(project);
  const served = await serve({
    folder,
    cwd: project,
    words: ["--client-home", `${folder}/client`, ...words],
    upstream: [realCodex ?? "codex", "app-server"],
    env: environmentOf(server),
  });
  return {
    served,
    project,
    url: served.addresses[0]!,
    tuiEnvironment: environmentOf(tui),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

function environmentOf(home: string): Record<string, string> {
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: home,
    CODEX_HOME: `${home}/.codex`,
    TMPDIR: `${home}/tmp`,
    LANG: "C.UTF-8",
  };
}

function makeHome(home: string, facts: { port: number; project: string }): void {
  for (const path of [home, `${home}/.codex`, `${home}/tmp`]) mkdirSync(path);
  writeFileSync(
    `${home}/.codex/config.toml`,
    `model = "gpt-5.6-luna"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:${facts.port}/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[features]
plugins = false
[projects."${facts.project}"]
trust_level = "trusted"
[notice.model_migrations]
"gpt-5.6-luna" = "gpt-6-luna"
`,
  );
}
