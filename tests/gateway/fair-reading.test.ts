// One busy client beside others: what it may send at once, how long it rests, and that its order and bytes stay whole.
import { expect, test } from "bun:test";
import { echoUpstream } from "../../bench/gateway-server.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { Coordinator } from "../../src/gateway/coordinator.ts";
import { Allowance, ReadGate, Turns } from "../../src/gateway/fair-reading.ts";
import { FrameReader } from "../../src/gateway/frames.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { gatewayLimits } from "../../src/gateway/limits.ts";
import { upgradeHead } from "./gateway-fixture.ts";
import { maskedText, RawClient } from "./raw-frames.ts";

const { allowanceBytes, frameCostBytes, allowanceBytesPerMs, minRestMs, maxRestMs, forgetRestMs, activeMs } =
  gatewayLimits;

test("Allowance goes to its last byte, asks for a rest within the named times, and comes back with time", () => {
  const clock = { nowMs: 1000 };
  const fresh = () => new Allowance(() => clock.nowMs);
  const [just, over, greedy] = [fresh(), fresh(), fresh()];

  expect([just.spend(allowanceBytes - frameCostBytes - 1), just.restMs()]).toEqual([true, 0]);
  expect([over.spend(allowanceBytes - frameCostBytes), over.restMs()]).toEqual([false, minRestMs]);
  expect([greedy.spend(64 * 1024 * 1024), greedy.restMs()]).toEqual([false, maxRestMs]);
  greedy.forgive();
  expect(greedy.restMs()).toBe(0);
  clock.nowMs += 1;
  over.comeBack();
  expect([over.restMs(), over.spend(allowanceBytesPerMs - frameCostBytes - 1), over.spend(1)]).toEqual([
    0,
    true,
    false,
  ]);
  clock.nowMs += minRestMs;
  over.comeBack();
  expect([over.spend(allowanceBytes - frameCostBytes - 1), over.restMs()]).toEqual([true, 0]); // never more than the whole
});

test("Allowance rests twice as long each time, to the most, and begins anew after a calm while or alone", () => {
  const clock = { nowMs: 1000 };
  const one = new Allowance(() => clock.nowMs);
  const restOnce = () => {
    while (one.spend(allowanceBytes)) {} // what came back meanwhile goes first
    const rest = one.restMs();
    clock.nowMs += rest;
    one.comeBack();
    return rest;
  };

  const rests = Array.from({ length: Math.log2(maxRestMs / minRestMs) + 2 }, restOnce);
  expect(rests).toEqual(rests.map((_, at) => Math.min(minRestMs * 2 ** at, maxRestMs)));
  clock.nowMs += forgetRestMs - 1;
  expect(restOnce()).toBe(maxRestMs);
  clock.nowMs += forgetRestMs;
  expect([restOnce(), restOnce()]).toEqual([minRestMs, minRestMs * 2]);
  one.forgive();
  expect(restOnce()).toBe(minRestMs);
});

test("the rest is the account's: who comes back on a new connection finds what is left of it", () => {
  const clock = { nowMs: 1000 };
  const one = new Allowance(() => clock.nowMs);
  expect(one.restLeftMs()).toBe(0);
  one.spend(allowanceBytes);
  one.restMs();
  clock.nowMs += 100;
  expect([one.restLeftMs(), one.restMs()]).toEqual([minRestMs - 100, minRestMs - 100]);
  clock.nowMs += minRestMs;
  expect(one.restLeftMs()).toBe(0);

  const coordinator = new Coordinator({ upstream: echoUpstream, clientHome: "/home" });
  const port = (clientId: string) => ({ clientId, rights: new Set<never>(), send: () => {}, close: () => {} });
  const [first, other] = [coordinator.attach(port("a")), coordinator.attach(port("b"))];
  coordinator.detach(first);
  expect(coordinator.attach(port("a")).account.allowance).toBe(first.account.allowance);
  expect(other.account.allowance).not.toBe(first.account.allowance);
});

test("Turns knows whether anybody else had work lately", () => {
  const turns = new Turns();
  const [a, b] = [{}, {}];
  turns.worked(a, 1000);
  expect(turns.othersThan(a, 1000)).toBe(false);
  expect(turns.othersThan(b, 1000)).toBe(true);
  turns.worked(b, 1050);
  expect(turns.othersThan(a, 1050)).toBe(true);
  expect(turns.othersThan(b, 1050)).toBe(true);
  turns.worked(b, 1000 + activeMs);
  expect(turns.othersThan(b, 1000 + activeMs)).toBe(false);
});

test("ReadGate resumes when nobody holds the socket any more", () => {
  const acts: string[] = [];
  const gate = new ReadGate({ pause: () => acts.push("pause"), resume: () => acts.push("resume") });
  const [queue, rest] = [{}, {}];
  gate.hold(queue);
  gate.hold(rest);
  gate.free(queue);
  gate.free(queue);
  expect(acts).toEqual(["pause", "pause"]);
  gate.free(rest);
  expect(acts).toEqual(["pause", "pause", "resume"]);
  gate.hold(rest);
  gate.open();
  gate.free(rest);
  expect(acts.slice(3)).toEqual(["pause", "resume"]);
});

test("FrameReader stops after the frame that was not paid for and loses nothing of what comes meanwhile", () => {
  const seen: string[] = [];
  const sizes: number[] = [];
  const nothing = () => {};
  const reader = new FrameReader(
    {
      text: (text) => seen.push(text),
      ping: nothing,
      pong: nothing,
      close: (code) => seen.push(`${code}`),
      fail: nothing,
    },
    gatewayLimits,
    (bytes) => sizes.push(bytes) > 3,
  );
  const frames = ["1", "2", "3", "4"].map((text) => maskedText(text));
  const all = Buffer.concat(frames);

  reader.push(Buffer.from(all.subarray(0, 15)));
  expect([seen.join(""), reader.stopped]).toEqual(["1", true]);
  reader.push(Buffer.from(all.subarray(15)));
  expect(seen.join("")).toBe("1");
  reader.goOn();
  expect([seen.join(""), reader.stopped]).toEqual(["12", true]);
  reader.goOn();
  reader.goOn();
  expect([seen.join(""), reader.stopped]).toEqual(["1234", false]);
  expect(sizes).toEqual([7, 7, 7, 7]);
});

test("FrameReader that was stopped keeps what comes until it may go on", () => {
  const seen: string[] = [];
  const nothing = () => {};
  const reader = new FrameReader({
    text: (text) => seen.push(text),
    ping: nothing,
    pong: nothing,
    close: nothing,
    fail: nothing,
  });
  reader.stop();
  for (const text of ["1", "2"]) reader.push(maskedText(text));
  expect([seen, reader.stopped]).toEqual([[], true]);
  reader.goOn();
  expect([seen, reader.stopped]).toEqual([["1", "2"], false]);
});

/** A client that floods beside one that always has a call under way, so that somebody is there to be served. */
async function floodBesideCalm() {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: echoUpstream });
  const { port } = await gateway.listenTcp(0);
  const bearerOf = (name: string) => gateway.issue(bootstrap, name, "interactive").exposeBearer((text) => text);
  const bearer = bearerOf("flood");
  const enter = async (own: string) => {
    const one = await RawClient.upgraded({ port: port!, bearer: own });
    one.socket.write(maskedText({ id: "hello", method: "initialize", params: {} }));
    return one;
  };
  const call = (id: number, length = 1000) =>
    maskedText({ id, method: "model/list", params: { text: "x".repeat(length) } });
  const [flood, calm] = [await enter(bearer), await enter(bearerOf("calm"))];
  expect(await calm.until(() => calm.texts().length === 2 && flood.texts().length === 2)).toBe(true);
  let asked = 0;
  calm.socket.on("data", () => calm.socket.write(call(asked++)));
  calm.socket.write(call(asked++));
  return { gateway, port: port!, bearer, enter, call, flood, calm };
}

test("a flood that rests between its turns is answered whole and in order, and others are served meanwhile", async () => {
  const { gateway, call, flood, calm } = await floodBesideCalm();
  const count = 120;
  flood.socket.write(Buffer.concat(Array.from({ length: count }, (_, id) => call(id))));

  expect(await flood.until(() => flood.texts().length === count + 2)).toBe(true);
  expect(flood.texts().flatMap((message) => (typeof message.id === "number" ? [message.id] : []))).toEqual(
    Array.from({ length: count }, (_, id) => id),
  );
  expect(calm.frames.length).toBeGreaterThanOrEqual(3);
  for (const one of [flood, calm]) one.socket.destroy();
  await gateway.stop();
});

test("a client that leaves while it rests frees its place, and is answered whole when it comes back", async () => {
  const { gateway, port, bearer, call, flood, calm } = await floodBesideCalm();
  flood.socket.write(Buffer.concat([call(0, 512 * 1024), call(1)]));
  expect(await flood.until(() => flood.texts().length >= 3)).toBe(true);
  flood.socket.destroy();

  const hello = maskedText({ id: "hello", method: "initialize", params: {} });
  const head = Buffer.from(upgradeHead({ host: `127.0.0.1:${port}`, bearer }));
  let back = flood;
  const admitted = async () => {
    back = new RawClient(port);
    back.socket.write(Buffer.concat([head, hello, call(7)]));
    await back.until(() => back.ended || back.texts().length === 3);
    return !back.ended;
  };
  expect(await holdsWithin(admitted, { withinMs: 30_000, everyMs: 10 })).toBe(true);
  const told = back.texts().map((message) => String(message.id ?? message.method));
  expect(told.toSorted()).toEqual(["7", "hello", "remoteControl/status/changed"]);
  for (const one of [back, calm]) one.socket.destroy();
  await gateway.stop();
});
