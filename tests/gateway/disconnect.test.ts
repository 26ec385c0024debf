// B26: approvals and turns across a disconnect. A lost socket detaches and ends nothing; what was asked is shown again
// after a resume, answered once, and failed by rule when nobody is there.
import { expect, test } from "bun:test";
import { holdsWithin } from "../../src/base/clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { standinGateway } from "./app-server-fixture.ts";
import { type PlayedClient, playedCoordinator } from "./coordinator-fixture.ts";
import { readyClient } from "./gateway-fixture.ts";

const asking = (id: number | string, threadId: string | undefined) => ({
  id,
  method: "item/commandExecution/requestApproval",
  params: { threadId, command: "rm -rf x" },
});
const accept = (id: number | string) => ({ id, result: { decision: "accept" } });
const shownTo = (one: PlayedClient) =>
  one.inbox.filter((message) => message.method !== undefined).map((message) => message.id);
const faultsOf = (one: PlayedClient) =>
  one.inbox.filter((message) => message.error).map((message) => [message.id, message.error.code]);

test("B26 a pending request is shown after the answer to the resume, with its own id, and not before", async () => {
  const played = await playedCoordinator();
  const first = await played.client("one");
  played.resume(first, "t");
  played.say(asking(7, "t"));
  played.say(asking("other", "elsewhere"));
  first.leave();

  const second = await played.client("two");
  played.say({ method: "item/started", params: { threadId: "t" } });
  expect(second.inbox).toEqual([]);
  played.resume(second, "t");

  expect(second.inbox.map((message) => message.id)).toEqual(["resume", 7]);
  expect(second.inbox[1]).toEqual(asking(7, "t"));
  second.send(accept(7));
  expect(played.sent.at(-1)).toEqual(accept(7));
});

test("B26 a late answer on a new socket counts only after that socket has resumed the thread", async () => {
  const played = await playedCoordinator();
  const first = await played.client("one");
  played.resume(first, "t");
  played.say(asking(7, "t"));
  first.leave();

  const again = await played.client("one");
  const before = played.sent.length;
  again.send(accept(7));
  expect(faultsOf(again)).toEqual([[7, -32600]]);
  expect(played.sent).toHaveLength(before);
  again.inbox.length = 0;
  played.resume(again, "t");
  again.send(accept(7));
  again.send(accept(7));

  expect(played.sent.slice(before).filter((message) => message.result)).toEqual([accept(7)]);
  expect(faultsOf(again)).toEqual([[7, -32600]]);
});

test("B26 of two who answer one counts; the other, and one who never saw it, get the same stable error", async () => {
  const played = await playedCoordinator();
  const [one, two, stranger] = [
    await played.client("one"),
    await played.client("two"),
    await played.client("stranger"),
  ];
  for (const each of [one, two]) played.resume(each, "t");
  played.say(asking(7, "t"));
  expect([shownTo(one), shownTo(two), shownTo(stranger)]).toEqual([[7], [7], []]);
  const before = played.sent.length;

  two.send({ id: 7, result: { decision: "decline" } });
  one.send(accept(7));
  stranger.send(accept(7));
  one.send({ id: "7", result: {} });

  expect(played.sent.slice(before)).toEqual([{ id: 7, result: { decision: "decline" } }]);
  expect([faultsOf(one), faultsOf(two), faultsOf(stranger)]).toEqual([
    [
      [7, -32600],
      ["7", -32600],
    ],
    [],
    [[7, -32600]],
  ]);
});

test("B26 an answer for a thread that was closed, or for a request that was withdrawn, goes nowhere", async () => {
  const played = await playedCoordinator();
  const one = await played.client("one");
  for (const thread of ["t", "u"]) played.resume(one, thread);
  played.say(asking(7, "t"));
  played.say(asking(8, "u"));
  played.say({ method: "thread/closed", params: { threadId: "t" } });
  played.say({ method: "serverRequest/resolved", params: { threadId: "u", requestId: 8 } });
  const before = played.sent.length;

  for (const id of [7, 8]) one.send(accept(id));

  expect(faultsOf(one)).toEqual([
    [7, -32600],
    [8, -32600],
  ]);
  expect(played.sent).toHaveLength(before);
  const again = await played.client("again");
  for (const thread of ["t", "u"]) played.resume(again, thread);
  expect(shownTo(again)).toEqual([]);
});

test("B26 with nobody to answer a request is kept for the named time, then failed once and shown to nobody", async () => {
  const played = await playedCoordinator({ approvalWaitMs: 50 });
  const one = await played.client("one");
  const watcher = await played.client("watch", ["observe"]);
  for (const each of [one, watcher]) played.resume(each, "t");
  played.say(asking(7, "t"));
  played.say(asking(8, undefined));
  const failed = (id: number) =>
    played.sent.filter((message) => message.id === id && message.error?.data.name === "busy");
  expect([failed(7).length, failed(8).length, shownTo(watcher)]).toEqual([0, 1, []]);

  one.leave();
  expect(await holdsWithin(() => failed(7).length > 0, { withinMs: 20_000, everyMs: 5 })).toBe(true);

  const again = await played.client("again");
  played.resume(again, "t");
  expect([failed(7).length, shownTo(again)]).toEqual([1, []]);
});

test("B26 a cut socket ends no turn and no runtime: the next client reads the same thread and the turn's end", async () => {
  await using dir = await tempFolder();
  await using opened = await standinGateway(dir.path, "stdio");
  const credential = opened.gateway.issue(opened.bootstrap, "one", "interactive");
  const first = await readyClient(opened.url, credential);
  const threadId = (await first.call("thread/start", { cwd: "/project" })).result.thread.id;
  await first.call("turn/start", { threadId, input: [{ type: "text", text: "please approve" }] });
  const asked = await first.wait((message) => String(message.method).endsWith("requestApproval"));
  await first.close();
  const free = () => !opened.gateway.registry.list()[0]!.live;
  expect(await holdsWithin(free, { withinMs: 20_000, everyMs: 5 })).toBe(true);

  const again = await readyClient(opened.url, credential);
  again.send({ id: asked.id, result: { decision: "accept" } });
  await again.wait((message) => message.id === asked.id && message.error?.code === -32600);
  const resumed = await again.call("thread/resume", { threadId });
  await again.wait((message) => message.id === asked.id && message.method === asked.method);
  const order = again.inbox.map((message) => message.method ?? message.result?.thread?.id);
  again.send({ id: asked.id, result: { decision: "accept" } });
  await again.wait((message) => message.method === "turn/completed" && message.params.turn.status === "completed");

  expect(resumed.result.thread.id).toBe(threadId);
  expect(order.indexOf(threadId)).toBeLessThan(order.indexOf(asked.method));
});
