// `proctor server` as a process of its own: what it refuses to start with, how it ends, and what a kill leaves behind.
import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { type ProcessGroup, startGroup } from "../../src/base/process-group.ts";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bootstrapToken } from "./local-server.ts";

const environment = (folder: string, more: Record<string, string> = {}): Record<string, string> => ({
  HOME: folder,
  PATH: "/usr/bin:/bin",
  WEBCODEX_ADDR: "127.0.0.1:0",
  WEBCODEX_DATA: `${folder}/data`,
  WEBCODEX_TOKEN: bootstrapToken,
  ...more,
});

interface Running {
  readonly group: ProcessGroup;
  readonly url: string;
  readonly log: () => string;
}

/** A server on a port of its own choice, which it says in its log. */
async function start(folder: string): Promise<Running> {
  const group = startGroup({ ...selfCommand(["server"]), cwd: folder, env: environment(folder), stderr: "pipe" });
  let log = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of group.stderr!) log += decoder.decode(part, { stream: true });
  })();
  const port = () => /listening\b[^\n]*?port[^0-9\n]*([0-9]+)/.exec(log)?.[1];
  await holdsWithin(() => port() !== undefined || !group.running(), { withinMs: 60_000 });
  if (port() === undefined) throw new Error(`the server did not start: ${log}`);
  return { group, url: `http://127.0.0.1:${port()}`, log: () => log };
}

async function post(url: string, body: unknown, token = bootstrapToken) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: looked into by the test, which fails on anything else.
  return { status: answer.status, body: (await answer.json()) as any };
}

test("the server refuses to start without a good token, off loopback, or with a word it does not know", async () => {
  await using dir = await tempFolder();
  const run = async (more: Record<string, string>, words: readonly string[] = []) => {
    const ended = await runProgram({
      ...selfCommand(["server", ...words]),
      cwd: dir.path,
      env: environment(dir.path, more),
      timeoutMs: 60_000,
      maxOutputBytes: 65_536,
    });
    const text = new TextDecoder().decode(ended.stdout) + new TextDecoder().decode(ended.stderr);
    return { code: ended.code, text };
  };

  const ended = [
    await run({ WEBCODEX_TOKEN: "" }),
    await run({ WEBCODEX_TOKEN: "short-canary" }),
    await run({ WEBCODEX_ADDR: "0.0.0.0:0" }),
    await run({ WEBCODEX_ADDR: "192.0.2.1:8080" }),
    await run({ WEBCODEX_ADDR: "127.0.0.1:65536" }),
    await run({}, ["--observations-per-session", "255"]),
    await run({}, ["--no-such-word"]),
  ];
  const version = await run({ WEBCODEX_TOKEN: "" }, ["--version"]);

  for (const one of ended) expect(one.code).toBeGreaterThan(0);
  expect(ended[0]!.text).toContain("server_token_required");
  expect(ended[1]!.text).toContain("server_token_weak");
  expect(ended[2]!.text).toContain("server_address_invalid");
  expect(ended.map((one) => one.text).join("")).not.toContain("canary");
  expect(existsSync(`${dir.path}/data`)).toBe(false);
  expect([version.code, /^proctor-server \S+\n$/.test(version.text)]).toEqual([0, true]);
}, 180_000);

test("kill -9 loses nothing that was acknowledged, and SIGTERM ends the server cleanly", async () => {
  await using dir = await tempFolder();
  const first = await start(dir.path);
  const user = await post(`${first.url}/api/users/create`, { username: "ann" });
  const scopes = ["communication:read", "communication:manage"];
  const token = (await post(`${first.url}/api/tokens/create`, { username: "ann", scopes })).body.token;
  const wanted = { title: "t", objective: "o", idempotency_key: "k" };
  const made = await post(`${first.url}/api/tools/call`, { tool: "create_goal", params: wanted }, token);
  first.group.signalLeader("SIGKILL");
  await first.group.exited;

  const second = await start(dir.path);
  const again = await post(`${second.url}/api/users/create`, { username: "ann" });
  const replay = await post(`${second.url}/api/tools/call`, { tool: "create_goal", params: wanted }, token);
  const listed = await post(`${second.url}/api/tools/call`, { tool: "list_goals" }, token);
  second.group.signalLeader("SIGTERM");
  const ended = await second.group.exited;
  const mode = (path: string) => (statSync(`${dir.path}/data${path}`).mode & 0o777).toString(8);

  expect([user.status, again.status]).toEqual([200, 409]);
  expect(replay.body.output).toMatchObject({ created: false, replayed: true, goal: made.body.output.goal });
  expect(listed.body.output.total_count).toBe(1);
  expect(ended).toEqual({ code: 0, signal: null });
  expect([mode(""), mode("/server.sqlite"), mode("/private")]).toEqual(["700", "600", "700"]);
  expect(first.log() + second.log()).not.toContain(bootstrapToken);
  expect(first.log() + second.log()).not.toContain(token);
}, 180_000);
