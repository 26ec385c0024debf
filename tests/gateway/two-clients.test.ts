// Several clients in front of one upstream: rights, the lease, approvals, revocation, rotation and reconnect.
import { expect, test } from "bun:test";
import { holdsWithin } from "../../src/base/clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { client, fakeGateway, readyClient } from "./gateway-fixture.ts";

test("G108 G174 G180 G188 initialize over a Unix socket answers first with the client home, then the remote status", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path, { clientHome: "/declared/home" });
  const endpoint = await opened.gateway.listenUnix(`${dir.path}/g.sock`);
  const credential = opened.gateway.issue(opened.bootstrap, "unix-client", "interactive");

  const one = await readyClient(`ws+unix://${endpoint.address}:/`, credential, { Host: "localhost" });

  expect(one.inbox[0]!.result.codexHome).toBe("/declared/home");
  await one.wait((message) => message.method === "remoteControl/status/changed");
  expect(one.inbox[1]!.method).toBe("remoteControl/status/changed");
  await one.close();
});

test("G181 G182 G183 G184 G189 the first turn takes the lease, a second controller and an observer are refused", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const first = await readyClient(url, gateway.issue(bootstrap, "first", "interactive"));
  const second = await readyClient(url, gateway.issue(bootstrap, "second", "interactive"));
  const observer = await readyClient(url, gateway.issue(bootstrap, "observer", "observer"));
  const threadId = (await first.call("thread/start")).result.thread.id;

  expect((await first.call("turn/start", { threadId })).result).toBeDefined();
  expect((await second.call("turn/start", { threadId })).error).toMatchObject({
    code: -32032,
    data: { name: "controller_required" },
  });
  expect((await observer.call("turn/start", { threadId })).error).toMatchObject({
    code: -32031,
    data: { name: "unauthorized" },
  });
  expect((await observer.call("thread/start")).error.code).toBe(-32031);
  expect((await observer.call("thread/read", { threadId })).result.thread.id).toBe(threadId);
  expect((await observer.call("thread/resume", { threadId, model: "other" })).result.params).toEqual({ threadId });
  const [a, b] = [await first.call("model/list"), await second.call("model/list")];
  expect(a.result.pid).toBe(b.result.pid);
});

test("G024 G110 unknown methods and terminating ones are refused to every preset, and --allow-method opens one", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path, { allowedMethods: new Map([["own/method", "interact"]]) });
  const url = `ws://${(await opened.gateway.listenTcp(0)).address}/`;
  const one = await readyClient(url, opened.gateway.issue(opened.bootstrap, "one", "interactive"));

  expect((await one.call("no/such/method")).error.code).toBe(-32600);
  expect((await one.call("account/logout")).error.code).toBe(-32031);
  expect((await one.call("own/method")).result.method).toBe("own/method");
});

test("G168 G169 G170 G171 G172 G173 G175 odd messages are answered by rule and the connection goes on", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const url = `ws://${(await opened.gateway.listenTcp(0)).address}/`;
  const one = await readyClient(url, opened.gateway.issue(opened.bootstrap, "one", "interactive"));

  one.send("not json");
  await one.wait((message) => message.id === null && message.error?.code === -32700);
  for (const key of ["token", "Authorization", "BEARER", "credential"]) {
    const refused = await one.call("turn/start", { deep: [{ [key]: 1 }] });
    expect(refused.error).toMatchObject({ code: -32030, data: { name: "unauthenticated" } });
  }
  one.send({ id: 101, result: { token: "x" } });
  await one.wait((message) => message.id === 101 && message.error?.code === -32030);
  for (const odd of [
    "[]",
    "7",
    '{"id":null,"method":"model/list"}',
    '{"id":1.5,"method":"model/list"}',
    '{"id":"p","method":"model/list","params":"x"}',
  ]) {
    const before = one.inbox.filter((message) => message.error?.code === -32600).length;
    one.send(odd);
    expect(
      await holdsWithin(() => one.inbox.filter((message) => message.error?.code === -32600).length > before, {
        withinMs: 10_000,
        everyMs: 5,
      }),
    ).toBe(true);
  }
  expect((await one.call("model/list", { text: "discuss token budgets" })).result.params.text).toBe(
    "discuss token budgets",
  );
});

test("B26 G177 an approval waits for a resume, one answer counts, and a late one gets a stable error", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const first = await readyClient(url, gateway.issue(bootstrap, "first", "interactive"));
  const observer = await readyClient(url, gateway.issue(bootstrap, "watch", "observer"));
  const threadId = (await first.call("thread/start")).result.thread.id;
  await observer.call("thread/resume", { threadId });
  await first.call("turn/start", { threadId, ask: true });
  const asked = await first.wait((message) => message.method === "item/commandExecution/requestApproval");
  observer.send({ id: asked.id, result: { decision: "accept" } });
  await observer.wait((message) => message.error?.code === -32031);
  await first.close();

  const second = await readyClient(url, gateway.issue(bootstrap, "second", "interactive"));
  await second.call("model/list");
  expect(second.inbox.some((message) => message.id === asked.id)).toBe(false);
  await second.call("thread/resume", { threadId });
  await second.wait((message) => message.id === asked.id);
  second.send({ id: asked.id, result: { decision: "decline" } });
  expect((await second.wait((message) => message.method === "turn/completed")).params.answer).toEqual({
    decision: "decline",
  });
  second.send({ id: asked.id, result: { decision: "accept" } });
  await second.wait((message) => message.id === asked.id && message.error?.code === -32600);
  expect(observer.inbox.some((message) => message.method === "item/commandExecution/requestApproval")).toBe(false);
});

test("G055 G057 G058 G178 revocation closes the channel with 1008 before it is acknowledged", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const credential = gateway.issue(bootstrap, "one", "interactive");
  const one = await readyClient(url, credential);
  const bearer = credential.exposeBearer((text) => text);

  await gateway.revoke(bootstrap, credential);

  expect(gateway.registry.size).toBe(0);
  expect(await one.closed).toBe(1008);
  expect(gateway.registry.authenticate(bearer)).toBe("unauthenticated");
});

test("G060 G062 G063 rotation hands the new one over after the old channel is closed", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const old = gateway.issue(bootstrap, "one", "observer");
  const one = await readyClient(url, old);

  const fresh = await gateway.rotate(bootstrap, old, "renamed");

  expect(await one.closed).toBe(1008);
  expect(gateway.registry.list()).toMatchObject([{ client_id: "renamed", rights: ["observe", "interact", "approve"] }]);
  await (await readyClient(url, fresh)).close();
});

test("G186 G187 a reconnect of the same credential reads the same thread", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const url = `ws://${(await opened.gateway.listenTcp(0)).address}/`;
  const credential = opened.gateway.issue(opened.bootstrap, "one", "interactive");
  const first = await readyClient(url, credential);
  const threadId = (await first.call("thread/start")).result.thread.id;
  await first.close();
  await holdsWithin(() => !opened.gateway.registry.list()[0]!.live, { withinMs: 10_000, everyMs: 5 });

  const again = await readyClient(url, credential);

  expect((await again.call("thread/read", { threadId })).result.thread.id).toBe(threadId);
  await again.close();
});

test("an upstream that dies answers what is pending, tells its clients to come again, and is started anew", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const url = `ws://${(await opened.gateway.listenTcp(0)).address}/`;
  const credential = opened.gateway.issue(opened.bootstrap, "one", "interactive");
  const one = await readyClient(url, credential);

  const lost = await one.call("thread/delete", { threadId: "thread-1" });

  expect(lost.error).toMatchObject({ code: -32000, data: { name: "busy" } });
  expect(await one.closed).toBe(1013);
  await holdsWithin(() => !opened.gateway.registry.list()[0]!.live, { withinMs: 10_000, everyMs: 5 });
  await (await readyClient(url, credential)).close();
});

test("G099 G100 terminate revokes everybody and then ends the runtime; a stop closes with 1001", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const one = await readyClient(url, gateway.issue(bootstrap, "one", "interactive"));

  await gateway.terminate(bootstrap);

  expect(await one.closed).toBe(1008);
  expect(gateway.registry.size).toBe(0);
  const idle = await client(url, gateway.issue(bootstrap, "two", "observer"));
  await gateway.stop();
  expect(await idle.closed).toBe(1001);
});

test("a client's own socket is its identity, serves /rpc, holds one channel and goes with the credential", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const credential = gateway.issue(bootstrap, "tui", "interactive");
  const path = `${dir.path}/tui.sock`;
  await gateway.listenForClient(credential, path);
  const one = await readyClient(`ws+unix://${path}:/rpc`, null, { Host: "localhost" });

  await expect(client(`ws+unix://${path}:/rpc`, null, { Host: "localhost" })).rejects.toThrow();
  await gateway.revoke(bootstrap, credential);

  expect(await one.closed).toBe(1008);
  expect(await Bun.file(path).exists()).toBe(false);
});
