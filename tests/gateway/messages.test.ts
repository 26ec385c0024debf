// What a message is about, and how answers keep their id space, without a socket between.
import { expect, test } from "bun:test";
import { carriesCredential } from "../../src/gateway/application-secrets.ts";
import { gatewayLimits } from "../../src/gateway/limits.ts";
import { nestsDeeper, splitAnswer, threadOf } from "../../src/gateway/messages.ts";
import { Account } from "../../src/gateway/session.ts";
import { playedCoordinator } from "./coordinator-fixture.ts";

const carries = (text: string) => carriesCredential(JSON.parse(text), text);

test("G169 G172 carriesCredential() finds the key however it is spelled, and never a value", () => {
  for (const key of [
    "token",
    "ToKeN",
    "AUTHORIZATION",
    "Bearer",
    "credential",
    "\\u0074oken",
    "to\\u006ben",
    "to\u212aen",
  ])
    for (const text of [`{"${key}":1}`, `[[{"a":{"${key}":null}}]]`])
      expect([text, carries(text)]).toEqual([text, true]);
  for (const text of ['{"text":"a bearer token"}', '{"tokens":1}', '{"t":"\\u0074oken"}', '["token"]', '"credential"'])
    expect([text, carries(text)]).toEqual([text, false]);
  const deep = `${"[".repeat(5000)}{"token":1}${"]".repeat(5000)}`;
  expect(carries(deep)).toBe(true);
});

test("splitAnswer() takes plain answers apart and leaves every other text to the parser", () => {
  expect(splitAnswer('{"id":17,"result":{"a":1}}')).toEqual({ id: 17, tail: ',"result":{"a":1}}' });
  expect(splitAnswer('{"id":0,"error":{}}')).toEqual({ id: 0, tail: ',"error":{}}' });
  for (const text of [
    '{"id":"17","result":1}',
    '{"id":017,"result":1}',
    '{"id":17,"method":"x"}',
    '{"result":1,"id":17}',
    '{"id":17,"result":1',
    '{"id":1234567890123456,"result":1}',
    ' {"id":17,"result":1}',
  ])
    expect([text, splitAnswer(text)]).toEqual([text, null]);
});

test("threadOf() finds the thread in each dialect", () => {
  expect([{ threadId: "a" }, { thread: { id: "a" } }, { conversationId: "a" }].map(threadOf)).toEqual(["a", "a", "a"]);
  expect([null, {}, { threadId: 7 }, { thread: null }, "a"].map(threadOf)).toEqual(Array(5).fill(undefined));
});

test("G175 each client has an id space of its own, kept through every form of an answer", async () => {
  const played = await playedCoordinator();
  const [one, two] = [await played.client("one"), await played.client("two")];
  one.send({ id: 1, method: "model/list" });
  two.send({ id: 1, method: "model/list" });
  two.send({ id: "1", method: "model/list" });
  one.send({ id: 2, method: "config/read" });
  const [first, second, third, fourth] = played.sent.map((call) => call.id);

  played.say(`{"id":${third},"result":{"for":"third"}}`);
  played.say(`{"result":{"for":"second"},"id":${second}}`);
  played.say(`{"id":${first},"error":{"code":-1,"message":"first"}}`);
  played.say({ id: fourth });
  played.say(`{"id":${first},"result":"a second time"}`);
  played.say('{"id":99999,"result":"of nobody"}');

  expect(new Set(played.sent.map((call) => call.id)).size).toBe(4);
  expect(two.inbox).toEqual([
    { id: "1", result: { for: "third" } },
    { id: 1, result: { for: "second" } },
  ]);
  expect(one.inbox).toEqual([
    { id: 1, error: { code: -1, message: "first" } },
    { id: 2, result: null },
  ]);
});

test("a repeated key reaches the upstream once, as the gateway itself read it", async () => {
  const played = await playedCoordinator();
  const one = await played.client("one", ["observe"]);

  one.send('{"method":"turn/start","id":1,"method":"model/list","params":{"a":1,"a":2}}');

  expect(played.sent).toEqual([{ id: expect.any(Number), method: "model/list", params: { a: 2 } }]);
});

test("Account takes calls and bytes up to their bounds and not one more, over reconnects too", async () => {
  const account = new Account(100);
  expect([account.take(60), account.take(41), account.take(40), account.take(1)]).toEqual([true, false, true, false]);
  account.giveBack(40);
  expect(account.take(1)).toBe(true);

  const played = await playedCoordinator();
  const one = await played.client("one");
  for (let id = 0; id < gatewayLimits.maxPendingCalls; id++) one.send({ id, method: "model/list" });
  expect(one.inbox).toEqual([]);
  one.leave();
  const again = await played.client("one");
  const other = await played.client("other");
  again.send({ id: "over", method: "model/list" });
  other.send({ id: "mine", method: "model/list" });
  expect(again.inbox).toEqual([
    { id: "over", error: { code: -32000, message: expect.any(String), data: { name: "busy" } } },
  ]);
  expect(other.inbox).toEqual([]);

  played.say({ id: played.sent[0]!.id, result: 1 });
  again.send({ id: "now", method: "model/list" });
  expect(again.inbox).toHaveLength(1);
  expect(played.sent.at(-1)!.id).toBeGreaterThan(gatewayLimits.maxPendingCalls);
});

test("what one client may send unanswered is bounded in bytes", async () => {
  const played = await playedCoordinator({ maxPendingBytes: 1000 });
  const one = await played.client("one");
  one.send({ id: 1, method: "model/list", params: { text: "x".repeat(900) } });
  one.send({ id: 2, method: "model/list", params: { text: "x".repeat(100) } });
  expect(one.inbox.map((message) => [message.id, message.error.code])).toEqual([[2, -32000]]);
  expect(played.sent).toHaveLength(1);
});

test("a message nested as deep as the app-server reads passes, one level more is refused by its id", async () => {
  const nested = (levels: number) =>
    `{"id":7,"method":"model/list","params":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const played = await playedCoordinator();
  const one = await played.client("one");

  one.send(nested(gatewayLimits.maxJsonDepth - 1));
  one.send(nested(gatewayLimits.maxJsonDepth));
  one.send(nested(100_000));

  expect(played.sent).toHaveLength(1);
  expect(one.inbox.map((message) => message.error.code)).toEqual([-32600, -32600]);
  expect(one.inbox[0]!.id).toBe(7);
  const brackets = "[".repeat(200);
  for (const inside of [brackets, `\\"${brackets}`, `\\\\\\"${brackets}`, `${brackets}\\\\`])
    expect([inside, nestsDeeper(`{"a":"${inside}","b":[]}`)]).toEqual([inside, false]);
  expect(nestsDeeper(`{"a":"\\\\","b":${brackets}${"]".repeat(200)}}`)).toBe(true);
});

test("one client leaves a thread and the others keep their one upstream subscription until the last", async () => {
  const played = await playedCoordinator();
  const [one, two] = [await played.client("one"), await played.client("two", ["observe"])];
  for (const each of [one, two]) played.resume(each, "t");
  one.send({ id: 1, method: "turn/start", params: { threadId: "t" } });
  const before = played.sent.length;

  two.send({ id: "bye", method: "thread/unsubscribe", params: { threadId: "t" } });
  played.say({ method: "turn/started", params: { threadId: "t" } });

  expect(played.sent).toHaveLength(before);
  expect(two.inbox.at(-1)).toEqual({ id: "bye", result: { status: "unsubscribed" } });
  expect(one.inbox.at(-1)).toMatchObject({ method: "turn/started" });
  expect(played.coordinator.leases.holderOf("t")).toBe(one.session);
  one.send({ id: "last", method: "thread/unsubscribe", params: { threadId: "t" } });
  expect(played.sent.at(-1)).toMatchObject({ method: "thread/unsubscribe", params: { threadId: "t" } });
  expect(played.coordinator.leases.holderOf("t")).toBeUndefined();
});

test("resuming a thread that another client controls changes none of its settings", async () => {
  const played = await playedCoordinator();
  const [one, two] = [await played.client("one"), await played.client("two")];
  const resume = { method: "thread/resume", params: { threadId: "t", model: "other" } };

  two.send({ id: 1, ...resume });
  expect(played.sent.at(-1)!.params).toEqual({ threadId: "t", model: "other" });
  one.send({ id: 1, method: "turn/start", params: { threadId: "t" } });
  two.send({ id: 2, ...resume });
  expect(played.sent.at(-1)!.params).toEqual({ threadId: "t" });
  one.send({ id: 2, ...resume });
  expect(played.sent.at(-1)!.params).toEqual({ threadId: "t", model: "other" });
});
