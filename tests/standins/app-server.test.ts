// The app-server stand-in: the handshake, whole turns in both dialects, approvals, interrupts, and its three ways in.
import { expect, test } from "bun:test";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { AppServer } from "../../src/standins/app-server.ts";
import { listenSockets, parseListen, serveLines } from "../../src/standins/app-server-listen.ts";
import type { AppServerVersion } from "../../src/standins/app-server-thread.ts";
import { standinLimits } from "../../src/standins/limits.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { Inbox, type Message, socketPeer, startOnPort, startStandin } from "./app-server-fixture.ts";

const approval = "item/commandExecution/requestApproval";

function openServer(version: AppServerVersion = "0.144.4"): AppServer {
  return new AppServer({ version, codexHome: "/home/.codex", folder: "/project", platformOs: "linux" });
}

function join(server: AppServer) {
  const inbox: Inbox = new Inbox((text) => peer.take(text));
  const peer = server.connect((text) => inbox.take(text));
  return { inbox, leave: () => peer.close() };
}

const completed = (message: Message) => message.method === "turn/completed";

test("AppServer answers initialize with its four facts, then the remote status", async () => {
  const { inbox } = join(openServer());

  const { result } = await inbox.hello();

  expect(Object.keys(result)).toEqual(["userAgent", "codexHome", "platformFamily", "platformOs"]);
  expect(result).toMatchObject({ codexHome: "/home/.codex", platformFamily: "unix", platformOs: "linux" });
  expect(result.userAgent).toStartWith("test/0.144.4 ");
  expect(inbox.messages[1]!.method).toBe("remoteControl/status/changed");
});

test("AppServer refuses calls before initialize, a second initialize, unknown methods and unknown threads", async () => {
  const { inbox } = join(openServer());

  const early = await inbox.call("thread/list");
  await inbox.hello();
  const refused = [
    early,
    await inbox.call("initialize", { clientInfo: { name: "test", version: "1" } }),
    await inbox.call("no/such/method"),
    await inbox.call("thread/read", { threadId: "nowhere" }),
    await inbox.call("turn/start", { threadId: await inbox.startThread() }),
  ];

  for (const answer of refused) expect(answer.error.code).toBe(-32600);
  expect(new Set(refused.map((answer) => answer.error.message)).size).toBe(5);
});

test("AppServer plays a turn in the order of the real one and lists it by its thread", async () => {
  const { inbox } = join(openServer());
  await inbox.hello();
  const threadId = await inbox.startThread({ cwd: "/elsewhere" });

  await inbox.startTurn(threadId, "go");

  const last = await inbox.until(completed);
  expect(last.params.turn).toMatchObject({ status: "completed", error: null });
  expect(inbox.methods().slice(1)).toEqual([
    "thread/started",
    "thread/status/changed",
    "turn/started",
    "item/started",
    "item/completed",
    "item/started",
    "item/agentMessage/delta",
    "item/completed",
    "thread/status/changed",
    "turn/completed",
  ]);
  const read = (await inbox.call("thread/read", { threadId, includeTurns: true })).result.thread;
  expect(read).toMatchObject({ id: threadId, preview: "go", cwd: "/elsewhere", status: { type: "idle" } });
  expect(read.turns[0].items.map((item: Message) => item.type)).toEqual(["userMessage", "agentMessage"]);
  expect((await inbox.call("thread/read", { threadId })).result.thread.turns).toEqual([]);
  expect((await inbox.call("thread/list")).result.data.map((thread: Message) => thread.id)).toEqual([threadId]);
});

for (const [decision, status, turnStatus] of [
  ["accept", "completed", "completed"],
  ["decline", "declined", "completed"],
  ["cancel", "declined", "interrupted"],
] as const) {
  test(`AppServer asks leave and waits; ${decision} leaves the command ${status}`, async () => {
    const { inbox } = join(openServer());
    await inbox.hello();
    const threadId = await inbox.startThread();

    await inbox.startTurn(threadId, "please Approve this");
    const asked = await inbox.until((message) => message.method === approval);
    const waiting = (await inbox.call("thread/read", { threadId })).result.thread.status;
    inbox.post({ id: asked.id, result: { decision } });
    const last = await inbox.until(completed);

    expect(asked).toMatchObject({ id: 0, params: { threadId, environmentId: "local" } });
    expect(waiting).toEqual({ type: "active", activeFlags: ["waitingOnApproval"] });
    const resolved = inbox.messages.filter((message) => message.method === "serverRequest/resolved");
    expect(resolved.map((message) => message.params)).toEqual([{ threadId, requestId: 0 }]);
    const ended = inbox.messages.filter((message) => message.method === "item/completed");
    expect(ended.map((message) => message.params.item.status)).toContain(status);
    expect(last.params.turn.status).toBe(turnStatus);
  });
}

test("AppServer takes an error as a no, and nothing from an answer that comes too late", async () => {
  const { inbox } = join(openServer());
  await inbox.hello();
  const threadId = await inbox.startThread();
  await inbox.startTurn(threadId, "approve");
  const asked = await inbox.until((message) => message.method === approval);

  inbox.post({ id: asked.id, error: { code: -32000, message: "nobody" } });
  inbox.post({ id: asked.id, result: { decision: "accept" } });

  await inbox.until(completed);
  const ended = inbox.messages.filter((message) => message.params?.item?.type === "commandExecution");
  expect(ended.at(-1)!.params.item.status).toBe("declined");
  expect(inbox.methods().filter((method) => method === "serverRequest/resolved").length).toBe(1);
});

test("AppServer holds a slow turn until it is interrupted by its own id, and takes no second one meanwhile", async () => {
  const { inbox } = join(openServer());
  await inbox.hello();
  const threadId = await inbox.startThread();
  const turnId = await inbox.startTurn(threadId, "a slow one");
  await inbox.until((message) => message.params?.item?.phase === "commentary");

  const second = await inbox.call("turn/start", { threadId, input: [] });
  const other = await inbox.call("turn/interrupt", { threadId, turnId: "another" });
  const own = await inbox.call("turn/interrupt", { threadId, turnId });

  expect([second.error.code, other.error.code]).toEqual([-32600, -32600]);
  expect(own.result).toEqual({});
  expect((await inbox.until(completed)).params.turn).toMatchObject({ id: turnId, status: "interrupted" });
  expect((await inbox.call("turn/interrupt", { threadId, turnId })).error.code).toBe(-32600);
});

test("AppServer ends a turn that waits for leave when it is interrupted", async () => {
  const { inbox } = join(openServer());
  await inbox.hello();
  const threadId = await inbox.startThread();
  const turnId = await inbox.startTurn(threadId, "approve, then be slow");
  await inbox.until((message) => message.method === approval);

  await inbox.call("turn/interrupt", { threadId, turnId });

  expect((await inbox.until(completed)).params.turn.status).toBe("interrupted");
  expect(inbox.methods()).toContain("serverRequest/resolved");
});

test("AppServer tells a thread only to those who follow it, and asks again after a resume", async () => {
  const server = openServer();
  const first = join(server);
  const second = join(server);
  await first.inbox.hello();
  await second.inbox.hello();
  const threadId = await first.inbox.startThread();
  await first.inbox.startTurn(threadId, "approve");
  const asked = await first.inbox.until((message) => message.method === approval);
  first.leave();

  expect(second.inbox.methods()).toEqual(["remoteControl/status/changed"]);
  expect((await second.inbox.call("thread/resume", { threadId })).result.thread.turns.length).toBe(1);
  await second.inbox.until((message) => message.method === approval && message.id === asked.id);
  second.inbox.post({ id: asked.id, result: { decision: "accept" } });

  expect((await second.inbox.until(completed)).params.turn.status).toBe("completed");
  expect(first.inbox.methods()).not.toContain("turn/completed");
});

test("AppServer speaks the two dialects apart: stamps, kinds and the commands of thread/read", async () => {
  const seen: Record<string, unknown[]> = {};
  for (const version of ["0.144.4", "0.171.0"] as const) {
    const { inbox } = join(openServer(version));
    await inbox.hello();
    const threadId = await inbox.startThread();
    await inbox.startTurn(threadId, "approve");
    const asked = await inbox.until((message) => message.method === approval);
    inbox.post({ id: asked.id, result: { decision: "accept" } });
    const last = await inbox.until(completed);
    const { thread } = (await inbox.call("thread/read", { threadId, includeTurns: true })).result;
    const types: string[] = thread.turns[0].items.map((item: Message) => item.type);
    seen[version] = [
      thread.cliVersion,
      asked.params.kind ?? null,
      "emittedAtMs" in last,
      "rootTurnId" in last.params.turn,
      types.includes("commandExecution"),
    ];
  }

  expect(seen).toEqual({
    "0.144.4": ["0.144.4", null, false, false, false],
    "0.171.0": ["0.171.0", "command", true, true, true],
  });
});

test("serveLines() takes a message at the limit and refuses one byte more", async () => {
  const call = JSON.stringify({ id: 1, method: "thread/list" });
  const told: string[] = [];
  const serve = (bytes: number) => {
    const input = new Blob([`${call.padEnd(bytes, " ")}\n`]).stream();
    return serveLines(openServer(), { input, write: (text) => void told.push(text) });
  };

  await serve(standinLimits.maxAppServerMessageBytes);
  expect(told.length).toBe(1);
  await expect(serve(standinLimits.maxAppServerMessageBytes + 1)).rejects.toThrow("line_too_long");
  expect(told.length).toBe(1);
});

test("parseListen() takes three forms and nothing that is not loopback", () => {
  expect(parseListen("stdio")).toEqual({ kind: "stdio" });
  expect(parseListen("ws://127.0.0.1:0")).toEqual({ kind: "ws", port: 0 });
  expect(parseListen("ws://127.0.0.1:65535/")).toEqual({ kind: "ws", port: 65_535 });
  expect(parseListen("unix:/a/b")).toEqual({ kind: "unix", path: "/a/b" });
  for (const wrong of [
    "ws://127.0.0.1:65536",
    "ws://0.0.0.0:1",
    "ws://localhost:1",
    "unix:a",
    "http://127.0.0.1:1",
    "",
  ])
    expect(parseListen(wrong), wrong).toBeNull();
});

test("listenSockets() answers health reads, refuses any Origin and what is no upgrade", async () => {
  await using listener = listenSockets(openServer(), { kind: "ws", port: 0 });
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(`http://127.0.0.1:${listener.port}${path}`, { headers })).status;

  expect(await status("/readyz")).toBe(200);
  expect(await status("/healthz")).toBe(200);
  expect(await status("/")).toBe(400);
  expect(await status("/readyz", { Origin: "http://127.0.0.1" })).toBe(403);
});

test("listenSockets() makes a private socket, leaves what exists alone, and takes its own away", async () => {
  await using dir = await tempFolder();
  const taken = `${dir.path}/taken`;
  writeFileSync(taken, "mine");
  const path = `${dir.path}/s.sock`;
  {
    await using _listener = listenSockets(openServer(), { kind: "unix", path });
    using peer = await socketPeer(`ws+unix://${path}:/rpc`);
    expect((await peer.inbox.hello()).result.platformOs).toBe("linux");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }

  expect(existsSync(path)).toBe(false);
  expect(() => listenSockets(openServer(), { kind: "unix", path: taken })).toThrow("standin_listen_failed");
  expect(await Bun.file(taken).text()).toBe("mine");
});

test("`standin app-server` speaks lines on stdio until its input ends", async () => {
  await using dir = await tempFolder();
  await using standin = startStandin(dir.path, []);
  const { group } = standin;
  const lines = [
    { id: 1, method: "initialize", params: { clientInfo: { name: "test", version: "1" } } },
    { id: 2, method: "thread/start" },
  ];
  for (const line of lines) group.stdin!.write(`${JSON.stringify(line)}\n`);
  group.stdin!.end();

  const told = (await new Response(group.stdout!).text()).trimEnd().split("\n");

  expect(told.map((line) => JSON.parse(line).id ?? JSON.parse(line).method)).toEqual([
    1,
    "remoteControl/status/changed",
    2,
    "thread/started",
  ]);
  expect(JSON.parse(told[0]!).result.codexHome).toBe(dir.path);
  expect(await group.exited).toEqual({ code: 0, signal: null });
});

test("`standin app-server --listen ws` writes its port, serves two peers and ends on SIGTERM with 0", async () => {
  await using dir = await tempFolder();
  await using standin = await startOnPort(dir.path, ["--speaks", "0.171.0"]);
  using first = await socketPeer(`ws://127.0.0.1:${standin.port}/`);
  using second = await socketPeer(`ws://127.0.0.1:${standin.port}/`);

  expect((await first.inbox.hello()).result.userAgent).toStartWith("test/0.171.0 ");
  await second.inbox.hello();
  const threadId = await first.inbox.startThread();
  await second.inbox.call("thread/resume", { threadId });
  await first.inbox.startTurn(threadId, "go");

  await first.inbox.until(completed);
  await second.inbox.until(completed);
  standin.group.signalLeader("SIGTERM");
  expect(await standin.group.exited).toEqual({ code: 0, signal: null });
});

test("`standin app-server` refuses an address it cannot keep to, and a port file without a port", async () => {
  await using dir = await tempFolder();
  for (const words of [
    ["--listen", "ws://0.0.0.0:0"],
    ["--port-file", `${dir.path}/port`],
  ]) {
    await using standin = startStandin(dir.path, words);
    expect((await standin.group.exited).code).toBe(64);
  }
  expect(await holdsWithin(() => !existsSync(`${dir.path}/port`), { withinMs: 0 })).toBe(true);
});
