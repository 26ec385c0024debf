// The stock Codex TUI through the gateway to the real app-server on the stand-in model: over loopback TCP with its token
// from the environment, and over a Unix socket that is its identity. Skipped where the pinned Codex is not installed.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { selfCommand } from "../../src/base/self.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { codexGateway, realCodex } from "./codex-fixture.ts";
import { readyClient, type TestClient } from "./gateway-fixture.ts";
import { openTerminal, type TerminalProgram } from "./terminal-program.ts";

const approval = "item/commandExecution/requestApproval";
type Opened = Awaited<ReturnType<typeof codexGateway>>;

/** A client with a credential of its own, out of a file that `gateway issue` wrote. */
async function issued(opened: Opened, name: string, preset: string): Promise<TestClient> {
  const file = `${opened.served.runtimeDir}/${name}.bearer`;
  const done = await opened.served.operator("issue", "--client-id", name, "--preset", preset, "--output", file);
  expect([done.err, done.code]).toEqual(["", 0]);
  return await readyClient(opened.url, readFileSync(file, "utf8"));
}

/** The thread the TUI has opened, once `watcher` follows it. */
async function follow(watcher: TestClient): Promise<string> {
  let threadId: string | undefined;
  const opened = async () => {
    threadId = (await watcher.call("thread/loaded/list")).result.data[0];
    return threadId !== undefined;
  };
  expect(await holdsWithin(opened, { withinMs: 60_000, everyMs: 100 })).toBe(true);
  expect((await watcher.call("thread/read", { threadId })).result.thread.id).toBe(threadId);
  return threadId!;
}

/** Pastes a prompt, in the brackets of a paste, and sends it once it stands on the screen. */
async function ask(tui: TerminalProgram, prompt: string): Promise<void> {
  await tui.sees("? for shortcuts");
  const before = tui.shown().length;
  tui.press(`\x1b[200~${prompt}\x1b[201~`);
  await tui.sees(prompt, before);
  tui.press("\r");
}

async function leave(tui: TerminalProgram): Promise<number> {
  tui.press("\x03");
  await tui.sees("Disconnected from this task");
  return await tui.exited;
}

test.skipIf(realCodex === null)(
  "the stock TUI works over TCP with its token from the environment, watched by an observer who cannot interfere",
  async () => {
    await using dir = await tempFolder();
    await using opened = await codexGateway(dir.path);
    const observer = await issued(opened, "watch", "observer");
    const other = await issued(opened, "other", "interactive");
    const exec = ["gateway", "exec", "--runtime-dir", opened.served.runtimeDir, "--client-id", "tui", "--env", "TOK"];
    const self = selfCommand([...exec, "--", realCodex!, "--remote", opened.url, "--remote-auth-token-env", "TOK"]);
    await using tui = openTerminal({
      command: [self.command, ...self.args],
      cwd: opened.project,
      env: opened.tuiEnvironment,
    });
    await tui.sees("? for shortcuts");
    const threadId = await follow(observer);

    await ask(tui, "please look around");
    await tui.sees("Would you like to run the following command");
    await observer.wait((message) => message.method === "turn/started" && message.params.threadId === threadId);
    const input = [{ type: "text", text: "mine", text_elements: [] }];
    const turnId = observer.inbox.find((message) => message.method === "turn/started")!.params.turn.id;
    expect((await observer.call("turn/start", { threadId, input })).error.code).toBe(-32031);
    expect((await observer.call("turn/interrupt", { threadId, turnId })).error.code).toBe(-32031);
    expect((await other.call("turn/start", { threadId, input })).error.code).toBe(-32032);
    expect((await other.call("turn/interrupt", { threadId, turnId })).error.code).toBe(-32032);
    for (const id of [0, 1, 2]) observer.send({ id, result: { decision: "decline" } });
    await observer.call("thread/unsubscribe", { threadId });
    expect((await observer.call("thread/read", { threadId })).result.thread.id).toBe(threadId);
    expect(existsSync(`${opened.project}/approved.txt`)).toBe(false);

    tui.press("y");
    await tui.sees("everything is settled");
    await observer.wait((message) => message.method === "turn/completed" && message.params.threadId === threadId);
    expect(existsSync(`${opened.project}/approved.txt`)).toBe(true);
    expect(observer.inbox.some((message) => message.method === approval)).toBe(false);
    expect(await leave(tui)).toBe(0);
    const listed = JSON.parse((await opened.served.operator("list")).out).credentials;
    expect(listed.map((one: { client_id: string }) => one.client_id).sort()).toEqual(["other", "watch"]);
  },
  240_000,
);

test.skipIf(realCodex === null)(
  "the stock TUI works over a Unix socket of its own, is cut by a revocation, and its thread is resumed by another",
  async () => {
    await using dir = await tempFolder();
    await using opened = await codexGateway(dir.path);
    const other = await issued(opened, "other", "interactive");
    const socket = `${opened.served.runtimeDir}/tui.sock`;
    expect((await opened.served.operator("issue", "--client-id", "tui", "--socket", socket)).code).toBe(0);
    await using tui = openTerminal({
      command: [realCodex!, "--remote", `unix://${socket}`],
      cwd: opened.project,
      env: opened.tuiEnvironment,
    });
    await tui.sees("? for shortcuts");
    const threadId = await follow(other);

    await ask(tui, "please look around");
    await tui.sees("Would you like to run the following command");
    const asked = await other.wait((message) => message.method === approval);
    tui.press("y");
    await tui.sees("everything is settled");
    await other.wait((message) => message.method === "turn/completed" && message.params.threadId === threadId);
    expect((await opened.served.operator("revoke", "--client-id", "tui")).code).toBe(0);

    expect(existsSync(socket)).toBe(false);
    other.send({ id: asked.id, result: { decision: "decline" } });
    await other.wait((message) => message.id === asked.id && message.error?.code === -32600);
    const resumed = await other.call("thread/resume", { threadId });
    expect(resumed.result.thread.id).toBe(threadId);
    const input = [{ type: "text", text: "once more", text_elements: [] }];
    expect((await other.call("turn/start", { threadId, input })).result.turn.status).toBe("inProgress");
    const ended = () => other.inbox.filter((message) => message.method === "turn/completed").length;
    expect(await holdsWithin(() => ended() === 2, { withinMs: 60_000, everyMs: 20 })).toBe(true);
  },
  240_000,
);
