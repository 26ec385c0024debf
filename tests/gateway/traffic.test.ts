// What a connected client may do to the gateway: a reader that stops, bombs, control frames, order and slow heads.
import { expect, spyOn, test } from "bun:test";
import { EventEmitter } from "node:events";
import { connect, createServer } from "node:net";
import { holdsWithin } from "../../src/base/clock.ts";
import { type ConnectionContext, serveConnection } from "../../src/gateway/connection.ts";
import { Grant } from "../../src/gateway/credentials.ts";
import { ReadGate, Turns } from "../../src/gateway/fair-reading.ts";
import type { GatewayOptions } from "../../src/gateway/gateway.ts";
import { gatewayLimits } from "../../src/gateway/limits.ts";
import { rightsOf } from "../../src/gateway/permissions.ts";
import { SendQueue } from "../../src/gateway/send-queue.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { fakeGateway, rawProbe, upgradeHead } from "./gateway-fixture.ts";
import { masked, maskedText, RawClient } from "./raw-frames.ts";

/** A socket that takes nothing away by itself and counts what is written to it. */
function stalledSocket() {
  const writes: Buffer[] = [];
  let drained = () => {};
  const socket = {
    destroyed: false,
    writableLength: 0,
    paused: false,
    write(bytes: Buffer) {
      writes.push(bytes);
      socket.writableLength += bytes.length;
      return false;
    },
    pause() {
      socket.paused = true;
    },
    resume() {
      socket.paused = false;
    },
    on(_event: "drain", act: () => void) {
      drained = act;
    },
  };
  return { socket, writes, drain: () => drained() };
}

const queueOver = (maxQueueBytes: number) => {
  const stalled = stalledSocket();
  let overflows = 0;
  const queue = new SendQueue(stalled.socket as never, {
    maxQueueBytes,
    gate: new ReadGate(stalled.socket),
    onOverflow: () => overflows++,
  });
  return { ...stalled, queue, overflows: () => overflows };
};

test("G005 the write queue takes its whole bound and not one byte more, gathered bytes counted", () => {
  expect(gatewayLimits.maxQueueBytes).toBe(2 * gatewayLimits.maxMessageBytes);
  const { queue, socket, overflows, drain } = queueOver(1000);
  expect(queue.send(Buffer.alloc(600))).toBe(true);
  expect(queue.send(Buffer.alloc(401))).toBe(false);
  expect(overflows()).toBe(1);
  queue.flush();
  expect(queue.send(Buffer.alloc(401))).toBe(false);
  expect(queue.send(Buffer.alloc(400))).toBe(true);
  expect([socket.paused, overflows()]).toEqual([true, 2]);
  drain();
  expect(socket.paused).toBe(false);
  socket.destroyed = true;
  expect(queue.send(Buffer.alloc(1))).toBe(false);
});

test("G006 frames of one turn are one write in order, corked or not; 128 KiB force it out early", async () => {
  const { queue, writes } = queueOver(gatewayLimits.maxQueueBytes);
  for (const text of ["a", "b", "c"]) queue.send(Buffer.from(text));
  expect(writes).toEqual([]);
  await Promise.resolve();
  expect(writes.map(String)).toEqual(["abc"]);

  queue.send(Buffer.alloc(gatewayLimits.gatherBytes - 1));
  expect(writes).toHaveLength(1);
  queue.send(Buffer.alloc(1));
  expect(writes[1]).toHaveLength(131_072);
  await Promise.resolve();
  expect(writes).toHaveLength(2);

  queue.cork();
  queue.send(Buffer.from("d"));
  await Promise.resolve();
  queue.send(Buffer.from("e"));
  expect(writes).toHaveLength(2);
  queue.uncork();
  expect(writes.slice(2).map(String)).toEqual(["de"]);

  queue.cork();
  queue.send(Buffer.alloc(gatewayLimits.gatherBytes));
  expect(writes).toHaveLength(4);
  queue.uncork();
  await Promise.resolve();
  expect(writes).toHaveLength(4);
});

async function served(folder: string, more: Partial<GatewayOptions> = {}) {
  const opened = fakeGateway(folder, more);
  const { port } = await opened.gateway.listenTcp(0);
  const bearer = opened.gateway.issue(opened.bootstrap, "one", "interactive").exposeBearer((text) => text);
  return { ...opened, port: port!, bearer, [Symbol.asyncDispose]: opened[Symbol.asyncDispose] };
}

const hello = { id: 0, method: "initialize", params: { clientInfo: { name: "raw", version: "0.144.4" } } };

test("G005 a client that stops reading is cut when more than the bound waits; another is served meanwhile", async () => {
  await using dir = await tempFolder();
  const sends = new Set<(text: string) => void>();
  await using one = await served(dir.path, {
    limits: { maxQueueBytes: 256 * 1024 },
    upstream: ({ message }) => {
      sends.add(message);
      return Promise.resolve({
        send: (text) => {
          const { id, method } = JSON.parse(text);
          if (id !== undefined) message(JSON.stringify({ id, result: { method, thread: { id: "t" } } }));
        },
        close: () => Promise.resolve(true),
      });
    },
  });
  const other = one.gateway.issue(one.bootstrap, "other", "interactive").exposeBearer((text) => text);
  const start = Buffer.concat([hello, { method: "initialized" }].map(maskedText));
  const slow = await RawClient.upgraded(one, start);
  const quick = await RawClient.upgraded({ port: one.port, bearer: other }, start);
  slow.socket.write(maskedText({ id: 1, method: "thread/start", params: {} }));
  expect(await slow.until(() => slow.texts().some((message) => message.id === 1))).toBe(true);
  slow.socket.pause();
  const live = () => one.gateway.registry.list().find((row) => row.client_id === "one")!.live;

  // Whatever the kernel's buffers hold, enough of these pass them and the bound.
  const news = JSON.stringify({
    method: "item/agentMessage/delta",
    params: { threadId: "t", delta: "x".repeat(60_000) },
  });
  const cut = await holdsWithin(
    () => {
      for (const send of sends) send(news);
      return !live();
    },
    { withinMs: 30_000, everyMs: 1 },
  );

  expect(cut).toBe(true);
  quick.socket.write(maskedText({ id: 7, method: "model/list", params: {} }));
  expect(await quick.until(() => quick.texts().some((message) => message.id === 7))).toBe(true);
  slow.socket.destroy();
  quick.socket.destroy();
});

test("G131 the handshake's bound ends with the upgrade, also for bytes that came with it", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path, { limits: { maxHandshakeBytes: 1024 } });
  const frames = Array.from({ length: 40 }, (_, id) => maskedText({ id, method: "x".repeat(100) }));

  const client = await RawClient.upgraded(one, Buffer.concat(frames));
  client.socket.write(Buffer.concat(frames));

  expect(await client.until(() => client.texts().length === 80)).toBe(true);
  client.socket.destroy();
});

test("G132 a head that comes byte by byte past the deadline is closed without an answer", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path, { limits: { handshakeMs: 300 } });
  const head = upgradeHead({
    host: `127.0.0.1:${one.port}`,
    bearer: one.bearer,
    extra: [`X-Pad: ${"x".repeat(60_000)}`],
  });
  const client = new RawClient(one.port);
  let at = 0;

  const closed = await holdsWithin(
    () => {
      if (!client.ended) client.socket.write(head[at++] ?? "x");
      return client.ended;
    },
    { withinMs: 30_000, everyMs: 5 },
  );

  expect(closed).toBe(true);
  expect(client.socket.bytesRead).toBe(0);
});

test("G008 at the real deadline of 5 s a half-open connection is closed without an answer", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path);
  expect(gatewayLimits.handshakeMs).toBe(5000);

  expect(await rawProbe(one.port, "GET / HTTP/1.1\r\n")).toBe("");
});

test("G009 32 connections are held and the 33rd is dropped", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path, { limits: { handshakeMs: 120_000 } });
  const held = Array.from({ length: 32 }, () => connect(one.port, "127.0.0.1"));
  expect(await holdsWithin(() => one.gateway.connections() === 32, { withinMs: 30_000, everyMs: 2 })).toBe(true);

  expect(await rawProbe(one.port, "")).toBe("");
  expect(one.gateway.connections()).toBe(32);

  for (const socket of held) socket.destroy();
  expect(await holdsWithin(() => one.gateway.connections() === 0, { withinMs: 30_000, everyMs: 2 })).toBe(true);
});

test("G154 a second channel of a live credential is answered 409 busy", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path);
  const client = await RawClient.upgraded(one);

  const answer = await rawProbe(one.port, upgradeHead({ host: `127.0.0.1:${one.port}`, bearer: one.bearer }));

  expect(answer).toStartWith("HTTP/1.1 409 ");
  expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)).error).toMatchObject({
    code: -32000,
    data: { name: "busy" },
  });
  client.socket.destroy();
});

test("G167 a ping is answered with its payload, a pong is ignored, a close is answered and ends", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path);
  const client = await RawClient.upgraded(one);
  const pongs = () => client.frames.filter((frame) => frame.opcode === 10).map((frame) => frame.payload.toString());

  client.socket.write(Buffer.concat([masked(0x8a, Buffer.from("odd")), masked(0x89, Buffer.from("abc"))]));
  expect(await client.until(() => pongs().length === 1)).toBe(true);
  client.socket.write(Buffer.concat([masked(0x89, Buffer.alloc(0)), masked(0x88, Buffer.from([3, 232]))]));

  expect(await client.until(() => client.ended)).toBe(true);
  expect(pongs()).toEqual(["abc", ""]);
  expect(client.closeCode()).toBe(1000);
});

test("G176 answers come in the order of what was asked, in text frames", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path);
  const client = await RawClient.upgraded(one, maskedText(hello));
  expect(await client.until(() => client.texts().length === 2)).toBe(true);

  client.socket.write(
    Buffer.concat(Array.from({ length: 150 }, (_, i) => maskedText({ id: i + 1, method: "model/list", params: {} }))),
  );

  expect(await client.until(() => client.texts().length === 152)).toBe(true);
  expect(
    client
      .texts()
      .slice(2)
      .map((message) => message.id),
  ).toEqual(Array.from({ length: 150 }, (_, i) => i + 1));
  expect(client.frames.every((frame) => frame.opcode === 1)).toBe(true);
  client.socket.destroy();
});

test("G165 frame and message bombs end their own connection with 1009 and nobody else's", async () => {
  await using dir = await tempFolder();
  await using one = await served(dir.path, { limits: { maxFrameBytes: 4096, maxMessageBytes: 8192 } });
  const other = one.gateway.issue(one.bootstrap, "other", "observer").exposeBearer((text) => text);
  const calm = await RawClient.upgraded({ port: one.port, bearer: other });
  const fill = (first: number, length: number) => masked(first, Buffer.alloc(length, 120));
  const bombs = [
    fill(0x81, 4097),
    Buffer.from([0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]),
    Buffer.concat([fill(0x01, 4096), fill(0x00, 4096), fill(0x00, 1)]),
  ];
  for (const bomb of bombs) {
    await holdsWithin(() => !one.gateway.registry.list()[0]!.live, { withinMs: 30_000, everyMs: 2 });
    const client = await RawClient.upgraded(one, bomb);
    expect(await client.until(() => client.ended)).toBe(true);
    expect(client.closeCode()).toBe(1009);
  }
  calm.socket.write(masked(0x89, Buffer.from("still")));
  expect(await calm.until(() => calm.frames.some((frame) => frame.opcode === 10))).toBe(true);
  calm.socket.destroy();
});

test("G179 at the end the client is detached first, then its channel is free", async () => {
  const order: string[] = [];
  const grant = new Grant(
    { clientId: "c", rights: rightsOf("observer"), runtimeId: "r", generation: "g", credentialId: "x" },
    () => order.push("free"),
  );
  const coordinator = { attach: () => ({}), receive: () => {}, detach: () => order.push("detached") };
  const server = createServer((socket) => {
    const context = { rule: { kind: "tcp", address: `127.0.0.1:${port()}`, forwardedPorts: new Set() }, coordinator };
    const keeper = { generation: "g", authenticate: () => grant };
    serveConnection(socket, {
      ...context,
      keeper,
      limits: gatewayLimits,
      turns: new Turns(),
    } as unknown as ConnectionContext);
  });
  const port = () => (server.address() as { port: number }).port;
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  const client = await RawClient.upgraded({ port: port(), bearer: `c.${"0".repeat(64)}` });

  client.socket.destroy();

  expect(await client.until(() => order.length === 2)).toBe(true);
  expect(order).toEqual(["detached", "free"]);
  server.close();
});

test("a connection that was refused and has ended leaves no timer that would keep it in memory", () => {
  const socket = Object.assign(new EventEmitter(), { write: () => true, end() {}, resume() {}, destroy() {} });
  const set = spyOn(globalThis, "setTimeout");
  const cleared = spyOn(globalThis, "clearTimeout");
  try {
    serveConnection(socket as never, { limits: gatewayLimits, turns: new Turns() } as unknown as ConnectionContext);
    socket.emit("data", Buffer.from("no head at all\r\n\r\n"));
    expect(set.mock.results).toHaveLength(2); // the handshake's deadline and the wait for the peer's end
    socket.emit("close");

    const open = new Set(set.mock.results.map((one) => one.value));
    for (const [timer] of cleared.mock.calls) open.delete(timer as never);
    expect(open.size).toBe(0);
  } finally {
    set.mockRestore();
    cleared.mockRestore();
  }
});
