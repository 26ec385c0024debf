// The exec stand-in as a process: its stream against an MCP endpoint of the test, honest and bad.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";
import { tempFolder } from "../support/temp-folder.ts";

const project = "agent:codex-acceptance-runner:fixture";
const paths = ["alpha", "beta"].map((name) => `tests/fixtures/agent-loop-multi-file/${name}.txt`);
const texts: Record<string, string> = {
  [paths[0]!]: "BENCH_TARGET_ALPHA=before\nALPHA_UNRELATED_SENTINEL=keep\n",
  [paths[1]!]: "BENCH_TARGET_BETA=before\nBETA_UNRELATED_SENTINEL=keep\n",
};
const token = "standin-test-token";

interface Seen {
  readonly method: string;
  readonly profile: string | null;
  readonly authorized: boolean;
  readonly params: { name?: string; arguments?: { items?: { path: string }[] } };
}

/** A small MCP endpoint that serves the two files and notes what it was asked. */
function mcpEndpoint() {
  const seen: Seen[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.method !== "POST") return new Response(null, { status: 200 });
      const body = (await request.json()) as { id?: number; method: string; params?: Seen["params"] };
      const params = body.params ?? {};
      const authorized = request.headers.get("authorization") === `Bearer ${token}`;
      seen.push({ method: body.method, profile: request.headers.get("x-webcodex-mcp-profile"), authorized, params });
      if (body.id === undefined) return new Response(null, { status: 202 });
      const items = (params.arguments?.items ?? []).map(({ path }, index) => ({
        index,
        path,
        success: true,
        output: { text: texts[path] ?? "", path, format: "plain", start_line: 1, has_more: false },
      }));
      const results: Record<string, object> = {
        initialize: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "test", version: "1" } },
        "tools/list": { tools: [{ name: "read_files" }] },
        "tools/call": { structuredContent: { success: true, output: { failed_count: 0, items } }, isError: false },
      };
      const headers = { "mcp-session-id": "s1" };
      return Response.json({ jsonrpc: "2.0", id: body.id, result: results[body.method] }, { headers });
    },
  });
  return { seen, url: `http://127.0.0.1:${server.port}/mcp`, [Symbol.asyncDispose]: () => server.stop(true) };
}

async function play(name: string) {
  await using dir = await tempFolder();
  await using mcp = mcpEndpoint();
  for (const path of paths) {
    mkdirSync(`${dir.path}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
    writeFileSync(`${dir.path}/${path}`, texts[path]!);
  }
  const mcpServers = `mcp_servers={bidirectional={url="${mcp.url}",bearer_token_env_var="WEBCODEX_BIDIRECTIONAL_READ_TOKEN",enabled_tools=["read_files"],http_headers={"X-WebCodex-MCP-Profile"="direct"}}}`;
  const { command, args } = selfCommand([
    ...["standin", "exec", "--misbehave", name, "--ignore-user-config", "--strict-config", "--sandbox", "read-only"],
    ...["--ephemeral", "--json", "--model", "gpt-5.6-luna", "--config", 'model_reasoning_effort="medium"'],
    ...["--config", mcpServers, "--cd", dir.path, "-"],
  ]);
  const result = await runProgram({
    command,
    args,
    cwd: dir.path,
    env: { PATH: "/usr/bin:/bin", HOME: dir.path, WEBCODEX_BIDIRECTIONAL_READ_TOKEN: token },
    stdin: `Use only read_files. The exact registered project is ${project}. Read ${paths[0]} and ${paths[1]} in one batch.`,
    timeoutMs: 60_000,
    maxOutputBytes: 8 * 1024 * 1024,
  });
  const stdout = new TextDecoder().decode(result.stdout);
  return { code: result.code, stdout, stderr: new TextDecoder().decode(result.stderr), seen: mcp.seen };
}

// biome-ignore lint/suspicious/noExplicitAny: frames are foreign data that each test picks from
const framesOf = (stdout: string): any[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const callsOf = (stdout: string) => framesOf(stdout).filter((one) => one.item?.type === "mcp_tool_call");
const answerOf = (stdout: string): string =>
  framesOf(stdout).findLast((one) => one.item?.type === "agent_message").item.text;

test("standin exec reads both files in one batch over MCP and answers with their values", async () => {
  const run = await play("honest");

  expect(run.code).toBe(0);
  expect(run.seen.map((one) => one.method)).toEqual([
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
  ]);
  expect(run.seen.every((one) => one.authorized && one.profile === "direct")).toBe(true);
  const [started, completed] = callsOf(run.stdout);
  expect([started.type, completed.type]).toEqual(["item.started", "item.completed"]);
  expect(completed.item).toMatchObject({ server: "bidirectional", tool: "read_files", status: "completed" });
  expect(completed.item.result.structured_content.output.items[0].output.text).toBe(texts[paths[0]!]!);
  expect(JSON.parse(answerOf(run.stdout))).toEqual({
    BENCH_TARGET_ALPHA: "before",
    ALPHA_UNRELATED_SENTINEL: "keep",
    BENCH_TARGET_BETA: "before",
    BETA_UNRELATED_SENTINEL: "keep",
  });
  expect(`${run.stdout}${run.stderr}`).not.toContain(token);
});

test.each([
  "honest-split-chunks",
  "honest-line-separators",
  "honest-odd-frames",
  "honest-recovered-retries",
  "honest-two-calls",
])("standin exec --misbehave %s stays a good read with whole frames", async (name) => {
  const run = await play(name);

  expect(run.code).toBe(0);
  expect(callsOf(run.stdout).filter((one) => one.item.status === "completed").length).toBeGreaterThan(0);
  expect(framesOf(run.stdout).at(-1)?.type).toBe("turn.completed");
});

test("standin exec shows a forbidden item before, after or instead of its read", async () => {
  for (const [name, calls] of [
    ["shell-before", 2],
    ["edit-after", 2],
    ["search-instead", 0],
  ] as const) {
    const run = await play(name);
    const kinds = framesOf(run.stdout).map((one) => one.item?.type);

    expect(callsOf(run.stdout)).toHaveLength(calls);
    expect(kinds.some((kind) => ["command_execution", "file_change", "web_search"].includes(kind))).toBe(true);
  }
});

test("standin exec --misbehave forged-receipt shows a receipt that the server never served", async () => {
  const run = await play("forged-receipt");

  expect(run.seen).toEqual([]);
  expect(callsOf(run.stdout)[1].item.result.structured_content.success).toBe(true);
});

test("standin exec bends one thing of the receipt, the answer or the end", async () => {
  expect(callsOf((await play("wrong-project")).stdout)[1].item.arguments.project).not.toBe(project);
  expect(answerOf((await play("prefixed")).stdout).startsWith("{")).toBe(false);
  expect((await play("exit-7")).code).toBe(7);
  expect(framesOf((await play("turn-failed-exit-0")).stdout).at(-1)?.type).toBe("turn.failed");
  expect((await play("cut-last-line")).stdout.endsWith("\n")).toBe(false);
});

test("standin exec refuses a misbehaviour it does not know, with a sentence", async () => {
  const run = await play("no-such-thing");

  expect(run.code).toBe(1);
  expect(run.stderr).toContain("standin_unknown_misbehaviour");
  expect(run.stdout).toBe("");
});
