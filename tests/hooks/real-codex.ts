// The real Codex as a host for the hooks: its app-server over stdio on the stand-in model, every model request kept,
// our hooks in its hooks.json exactly as `hook config` prints them, trusted by the hash that it names itself.
// The programs are there after `npm run accept:real`; a test that needs them skips otherwise.
import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { LineSplitter } from "../../src/base/lines.ts";
import type { Scenario } from "../../src/contract/responses.ts";
import { openModel } from "../../src/standins/model.ts";
import type { Json } from "../server/served.ts";
import { projectRoot } from "../support/binary.ts";

/** The native program of a pinned Codex below `.cache`, or null. */
export function cachedCodex(fixture: "real-clients" | "codex-0.144"): string | null {
  const vendor = `${projectRoot}.cache/${fixture}/node_modules/@openai/codex-linux-x64/vendor`;
  if (process.platform !== "linux" || !existsSync(vendor)) return null;
  const programs = readdirSync(vendor).map((target) => `${vendor}/${target}/bin/codex`);
  return programs.find((path) => existsSync(path)) ?? null;
}

/** A stand-in model whose every request is kept as text. */
export function recordedModel(scenario: Scenario) {
  const model = openModel({ scenario, gate: null });
  const requests: string[] = [];
  const front = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const body = await request.text();
      requests.push(body);
      const { pathname } = new URL(request.url);
      return await fetch(`http://127.0.0.1:${model.port}${pathname}`, { method: request.method, body });
    },
  });
  return {
    port: front.port!,
    requests,
    async [Symbol.asyncDispose]() {
      await front.stop(true);
      await model[Symbol.asyncDispose]();
    },
  };
}

export interface CodexPlace {
  readonly codex: string;
  readonly home: string;
  readonly cwd: string;
  readonly modelPort: number;
  readonly mcpUrl: string;
  readonly token: string;
}

/** Makes the host's home: model, MCP server by environment credential, no hooks yet. */
export function makeCodexHome(place: CodexPlace): string {
  const codexHome = `${place.home}/.codex`;
  for (const path of [place.home, codexHome, `${place.home}/tmp`]) mkdirSync(path);
  writeFileSync(
    `${codexHome}/config.toml`,
    `model = "gpt-5.6-luna"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:${place.modelPort}/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[features]
plugins = false
[mcp_servers.plane]
url = "${place.mcpUrl}"
bearer_token_env_var = "PLANE_READ_TOKEN"
[mcp_servers.plane.http_headers]
X-WebCodex-MCP-Profile = "direct"
[projects."${place.cwd}"]
trust_level = "trusted"
`,
  );
  return codexHome;
}

export interface AppServer extends AsyncDisposable {
  request(method: string, params: Json): Promise<Json>;
  /** Every notification so far. */
  readonly heard: Json[];
  /** Waits until a notification fits. */
  hears(fits: (one: Json) => boolean): Promise<Json>;
}

/** Starts `codex app-server` and shakes hands. */
export async function openAppServer(place: CodexPlace): Promise<AppServer> {
  const child = Bun.spawn([place.codex, "app-server"], {
    cwd: place.cwd,
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: place.home,
      CODEX_HOME: `${place.home}/.codex`,
      TMPDIR: `${place.home}/tmp`,
      LANG: "C.UTF-8",
      PLANE_READ_TOKEN: place.token,
    },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const heard: Json[] = [];
  const answers = new Map<number, Json>();
  const write = async (message: Json) => {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    await child.stdin.flush();
  };
  const reading = (async () => {
    const lines = new LineSplitter({ maxLineBytes: 16 * 1024 * 1024 });
    for await (const part of child.stdout) {
      for (const line of lines.push(part)) {
        const message = JSON.parse(new TextDecoder().decode(line)) as Json;
        if (message["method"] === undefined) answers.set(message["id"] as number, message);
        else heard.push(message);
      }
    }
  })();
  let last = 0;
  const request = async (method: string, params: Json) => {
    const id = ++last;
    await write({ id, method, params });
    const there = await holdsWithin(() => answers.has(id) || child.exitCode !== null, { withinMs: 60_000 });
    const answer = answers.get(id);
    if (!there || answer === undefined || answer["error"] !== undefined) {
      throw new Error(`${method}: ${JSON.stringify(answer?.["error"] ?? "no answer")}`);
    }
    return answer["result"] as Json;
  };
  await request("initialize", {
    clientInfo: { name: "proctor-hook-test", title: "Test", version: "1" },
    capabilities: { experimentalApi: true },
  });
  await write({ method: "initialized" });
  return {
    request,
    heard,
    async hears(fits) {
      await holdsWithin(() => heard.some(fits), { withinMs: 90_000 });
      const found = heard.find(fits);
      if (found === undefined) throw new Error(`never heard: ${heard.map((one) => one["method"]).join(" ")}`);
      return found;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await holdsWithin(() => child.exitCode !== null || child.signalCode !== null, { withinMs: 8_000 });
      child.kill("SIGKILL");
      await child.exited;
      await reading;
    },
  };
}

/** Trusts what hooks.json holds, by the host's own words for it. */
export async function trustHooks(place: CodexPlace): Promise<string[]> {
  await using server = await openAppServer(place);
  const listed = await server.request("hooks/list", { cwds: [place.cwd] });
  const hooks = listed["data"][0]["hooks"] as Json[];
  const entries = hooks.map(
    (one) => `[hooks.state.${JSON.stringify(one["key"])}]\ntrusted_hash = ${JSON.stringify(one["currentHash"])}\n`,
  );
  appendFileSync(`${place.home}/.codex/config.toml`, `\n${entries.join("")}`);
  return hooks.map((one) => one["eventName"] as string);
}

/** One turn of a new thread; `ready` runs between the thread's start and its first prompt. */
export async function oneTurn(
  server: AppServer,
  options: { readonly cwd: string; readonly prompt: string; readonly ready: (threadId: string) => void },
): Promise<{ threadId: string; status: string; hooks: Json[] }> {
  const from = server.heard.length;
  const started = await server.request("thread/start", {
    ...{ cwd: options.cwd, sandbox: "read-only", approvalPolicy: "never" },
  });
  const threadId = started["thread"]["id"] as string;
  options.ready(threadId);
  const input = [{ type: "text", text: options.prompt, text_elements: [] }];
  await server.request("turn/start", { threadId, input });
  const ended = await server.hears(
    (one) => one["method"] === "turn/completed" && one["params"]["threadId"] === threadId,
  );
  const mine = server.heard.slice(from).filter((one) => one["method"] === "hook/completed");
  return {
    threadId,
    status: ended["params"]["turn"]["status"] as string,
    hooks: mine.map((one) => one["params"]["run"] as Json),
  };
}
