// The gateway in front of a real app-server process, over each kind of upstream: who may start, steer, read and approve,
// and what stays after a client has gone.
import { expect, test } from "bun:test";
import { holdsWithin } from "../../src/base/clock.ts";
import type { ClientCredential } from "../../src/gateway/credentials.ts";
import type { Preset } from "../../src/gateway/permissions.ts";
import { handClock } from "../support/hand-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { standinGateway, upstreams } from "./app-server-fixture.ts";
import { readyClient, type TestClient } from "./gateway-fixture.ts";

const approval = "item/commandExecution/requestApproval";
type Opened = Awaited<ReturnType<typeof standinGateway>>;

function issue(opened: Opened, name: string, preset: Preset = "interactive"): ClientCredential {
  return opened.gateway.issue(opened.bootstrap, name, preset);
}

async function startThread(one: TestClient): Promise<string> {
  return (await one.call("thread/start", { cwd: "/project" })).result.thread.id;
}

function startTurn(one: TestClient, threadId: string, text: string) {
  return one.call("turn/start", { threadId, input: [{ type: "text", text, text_elements: [] }] });
}

function ended(one: TestClient, status: string) {
  return one.wait((message) => message.method === "turn/completed" && message.params.turn.status === status);
}

for (const kind of upstreams) {
  test(`G180 G181 G182 G183 G184 G189 two clients and an observer share one app-server over ${kind}`, async () => {
    await using dir = await tempFolder();
    await using opened = await standinGateway(dir.path, kind);
    const first = await readyClient(opened.url, issue(opened, "first"));
    const second = await readyClient(opened.url, issue(opened, "second"));
    const observer = await readyClient(opened.url, issue(opened, "watch", "observer"));
    const threadId = await startThread(first);

    expect(first.inbox[0]!.result).toMatchObject({ codexHome: `${dir.path}/client`, platformFamily: "unix" });
    expect(first.inbox[1]!.method).toBe("remoteControl/status/changed");
    expect((await observer.call("thread/resume", { threadId })).result.thread.id).toBe(threadId);
    const turnId = (await startTurn(first, threadId, "a slow one")).result.turn.id;
    expect((await startTurn(second, threadId, "mine")).error).toMatchObject({
      code: -32032,
      data: { name: "controller_required" },
    });
    expect((await startTurn(observer, threadId, "mine")).error).toMatchObject({
      code: -32031,
      data: { name: "unauthorized" },
    });
    expect((await second.call("turn/interrupt", { threadId, turnId })).error.code).toBe(-32032);
    expect((await first.call("turn/interrupt", { threadId, turnId })).result).toEqual({});

    await ended(first, "interrupted");
    await ended(observer, "interrupted");
    const read = (await observer.call("thread/read", { threadId, includeTurns: true })).result.thread;
    expect(read.turns.map((turn: { status: string }) => turn.status)).toEqual(["interrupted"]);
    const listed = (await second.call("thread/list")).result.data;
    expect(listed.map((thread: { id: string }) => thread.id)).toEqual([threadId]);
  });

  test(`an approval over ${kind} reaches only who may approve, and one answer settles it for all`, async () => {
    await using dir = await tempFolder();
    await using opened = await standinGateway(dir.path, kind);
    const first = await readyClient(opened.url, issue(opened, "first"));
    const narrowed = await readyClient(opened.url, issue(opened, "narrowed"), {
      "x-proctor-permissions": "observe,interact",
    });
    const observer = await readyClient(opened.url, issue(opened, "watch", "observer"));
    const threadId = await startThread(first);
    for (const one of [narrowed, observer]) await one.call("thread/resume", { threadId });

    await startTurn(first, threadId, "please approve");
    const asked = await first.wait((message) => message.method === approval);
    for (const one of [narrowed, observer]) {
      one.send({ id: asked.id, result: { decision: "accept" } });
      await one.wait((message) => message.id === asked.id && message.error?.code === -32031);
    }
    first.send({ id: asked.id, result: { decision: "accept" } });

    for (const one of [first, narrowed, observer]) {
      await one.wait((message) => message.method === "serverRequest/resolved" && message.params.requestId === asked.id);
      await ended(one, "completed");
    }
    for (const one of [narrowed, observer])
      expect(one.inbox.some((message) => message.method === approval)).toBe(false);
    const command = first.inbox.findLast((message) => message.params?.item?.type === "commandExecution");
    expect(command!.params.item.status).toBe("completed");
  });

  test(`G187 a reconnect over ${kind} reads and takes the same thread; a revoked client is closed`, async () => {
    await using dir = await tempFolder();
    await using opened = await standinGateway(dir.path, kind);
    const credential = issue(opened, "one");
    const first = await readyClient(opened.url, credential);
    const threadId = await startThread(first);
    await startTurn(first, threadId, "go");
    await ended(first, "completed");
    await first.close();
    const free = () => !opened.gateway.registry.list()[0]!.live;
    expect(await holdsWithin(free, { withinMs: 20_000, everyMs: 5 })).toBe(true);

    const again = await readyClient(opened.url, credential);
    const read = (await again.call("thread/read", { threadId, includeTurns: true })).result.thread;
    await startTurn(again, threadId, "once more");
    await ended(again, "completed");
    await opened.gateway.revoke(opened.bootstrap, credential);

    expect(read).toMatchObject({ id: threadId, cwd: "/project", preview: "go" });
    expect(read.turns[0].items.at(-1).text).toBe("all done");
    expect(await again.closed).toBe(1008);
    await expect(readyClient(opened.url, credential)).rejects.toThrow();
  });
}

test("G185 the lease of a slow turn ends by the clock, and another client may then interrupt it", async () => {
  await using dir = await tempFolder();
  const clock = handClock();
  await using opened = await standinGateway(dir.path, "stdio", { clock, leaseMs: 1000 });
  const first = await readyClient(opened.url, issue(opened, "first"));
  const second = await readyClient(opened.url, issue(opened, "second"));
  const threadId = await startThread(first);
  const turnId = (await startTurn(first, threadId, "slow")).result.turn.id;
  await first.wait((message) => message.method === "item/completed" && message.params.item.phase === "commentary");

  clock.advance(999);
  expect((await second.call("turn/interrupt", { threadId, turnId })).error.code).toBe(-32032);
  clock.advance(1);
  expect((await second.call("turn/interrupt", { threadId, turnId })).result).toEqual({});

  await ended(first, "interrupted");
});

test("an approval that nobody is left to answer waits for the client that comes back and resumes", async () => {
  await using dir = await tempFolder();
  await using opened = await standinGateway(dir.path, "stdio");
  const credential = issue(opened, "one");
  const first = await readyClient(opened.url, credential);
  const threadId = await startThread(first);
  await startTurn(first, threadId, "approve");
  const asked = await first.wait((message) => message.method === approval);
  await first.close();
  const free = () => !opened.gateway.registry.list()[0]!.live;
  expect(await holdsWithin(free, { withinMs: 20_000, everyMs: 5 })).toBe(true);

  const again = await readyClient(opened.url, credential);
  await again.call("thread/resume", { threadId });
  await again.wait((message) => message.method === approval && message.id === asked.id);
  again.send({ id: asked.id, result: { decision: "decline" } });

  await ended(again, "completed");
});
