// One busy client beside others: what it may send at once, how long it rests, and that its order and bytes stay whole.
import { expect, test } from "bun:test";
import { echoUpstream } from "../../bench/gateway-server.ts";
import { Allowance, ReadGate, Turns } from "../../src/gateway/fair-reading.ts";
import { FrameReader } from "../../src/gateway/frames.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { gatewayLimits } from "../../src/gateway/limits.ts";
import { maskedText, RawClient } from "./raw-frames.ts";

const { allowanceBytes, frameCostBytes, allowanceBytesPerMs, minRestMs, maxRestMs, activeMs } = gatewayLimits;

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

test("a flood that rests between its turns is answered whole and in order, and others are served meanwhile", async () => {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: echoUpstream });
  const { port } = await gateway.listenTcp(0);
  const bearer = (name: string) => gateway.issue(bootstrap, name, "interactive").exposeBearer((text) => text);
  const ready = async (name: string) => {
    const one = await RawClient.upgraded({ port: port!, bearer: bearer(name) });
    one.socket.write(maskedText({ id: "hello", method: "initialize", params: {} }));
    await one.until(() => one.frames.length === 2);
    return one;
  };
  const [flood, calm] = [await ready("flood"), await ready("calm")];
  const count = 200;
  const call = (id: number) => maskedText({ id, method: "model/list", params: { text: "x".repeat(1000) } });
  let asked = 0;
  calm.socket.on("data", () => {
    if (!done()) calm.socket.write(call(asked++)); // always one call under way, so that somebody is there to be served
  });
  const done = () => flood.frames.length === count + 2;
  calm.socket.write(call(asked++));
  flood.socket.write(Buffer.concat(Array.from({ length: count }, (_, id) => call(id))));

  expect(await flood.until(done)).toBe(true);
  expect(
    flood
      .texts()
      .slice(2)
      .map((message) => message.id),
  ).toEqual(Array.from({ length: count }, (_, id) => id));
  expect(calm.frames.length).toBeGreaterThanOrEqual(3);
  for (const one of [flood, calm]) one.socket.destroy();
  await gateway.stop();
});
