// Bars: echo of 200 B through the gateway's full path against npm `ws` on node:http, 1 and 30 clients, rate and p99,
// and the time from a revocation to the closed socket.
import { openGateway } from "../src/gateway/gateway.ts";
import { echoUpstream } from "./gateway-server.ts";
import { type BenchRow, median, quantile, row, spreadOf } from "./measure.ts";

/** Many short rounds: a disturbance of the machine then falls on both sides of a pair, or on few pairs. */
const rounds = 41;
const roundMs = 250;
/** For both, until the compiler has done what it will do. */
const warmUpMs = 2_000;
const revocations = 30;

interface Sample {
  readonly rate: number;
  readonly p99: number;
}

interface Echo {
  /** One message there and back. */
  trip(): Promise<void>;
  close(): void;
}

async function connectEcho(port: number, bearer: string | undefined): Promise<Echo> {
  const headers = bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers } as never);
  let arrived = () => {};
  const next = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    arrived = resolve;
    return promise;
  };
  socket.onopen = () => arrived();
  socket.onmessage = () => arrived();
  await next();
  if (bearer !== undefined) {
    const hello = { id: 0, method: "initialize", params: { clientInfo: { name: "bench", version: "0.144.4" } } };
    const status = Promise.withResolvers<void>();
    socket.onmessage = (event) => String(event.data).includes("remoteControl/") && status.resolve();
    socket.send(JSON.stringify(hello));
    await status.promise;
    socket.onmessage = () => arrived();
  }
  const empty = JSON.stringify({ id: 1, method: "model/list", params: { text: "" } });
  const text = empty.replace('""', `"${"x".repeat(200 - empty.length)}"`);
  return {
    trip() {
      const answered = next();
      socket.send(text);
      return answered;
    },
    close: () => socket.close(),
  };
}

interface Side extends AsyncDisposable {
  round(): Promise<Sample>;
}

/** One server in a process of its own, `clients` connections to it, warmed up; both sides have the same client. */
async function openSide(kind: "ws" | "gateway", clients: number): Promise<Side> {
  const server = Bun.spawn([process.execPath, `${import.meta.dir}/gateway-server.ts`, kind], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const told = await server.stdout.getReader().read();
  const { port, bearers } = JSON.parse(new TextDecoder().decode(told.value));
  const echoes = await Promise.all(Array.from({ length: clients }, (_, at) => connectEcho(port, bearers[at])));
  await drive(echoes, warmUpMs);
  return {
    async round() {
      const started = performance.now();
      const times = await drive(echoes, roundMs);
      return { rate: (times.length / (performance.now() - started)) * 1_000, p99: quantile(times, 0.99) };
    },
    async [Symbol.asyncDispose]() {
      for (const echo of echoes) echo.close();
      server.kill();
      await server.exited;
    },
  };
}

/** Messages in lockstep on each connection, for the named time. */
async function drive(echoes: readonly Echo[], forMs: number): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + forMs;
  await Promise.all(
    echoes.map(async (echo) => {
      let started = performance.now();
      while (started < end) {
        await echo.trip();
        const arrived = performance.now();
        times.push(arrived - started);
        started = arrived;
      }
    }),
  );
  return times;
}

/** Rounds of both sides in turn, each round beginning with the other one; the verdict is the median of their ratios. */
async function echoRows(clients: number): Promise<BenchRow[]> {
  const floor: Sample[] = [];
  const ours: Sample[] = [];
  await using ws = await openSide("ws", clients);
  await using gateway = await openSide("gateway", clients);
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) floor.push(await ws.round());
    ours.push(await gateway.round());
    if (round % 2 === 1) floor.push(await ws.round());
  }
  const name = `gateway echo, 200 B, ${clients} ${clients === 1 ? "client" : "clients"}`;
  const rates = ours.map((one, at) => one.rate / floor[at]!.rate);
  const tails = ours.map((one, at) => one.p99 / floor[at]!.p99);
  const shown = (samples: readonly Sample[], of: (one: Sample) => number, digits: number) =>
    median(samples.map(of)).toFixed(digits);
  return [
    row({
      bar: `${name}: messages a second`,
      floor: `npm ws, ${shown(floor, (one) => one.rate, 0)}/s`,
      value: `${shown(ours, (one) => one.rate, 0)}/s`,
      ratio: median(rates),
      limit: 0.9,
      sense: "at least",
      spread: spreadOf(rates),
    }),
    row({
      bar: `${name}: p99`,
      floor: `npm ws, ${shown(floor, (one) => one.p99, 3)} ms`,
      value: `${shown(ours, (one) => one.p99, 3)} ms`,
      ratio: median(tails),
      limit: 1,
      sense: "at most",
      spread: spreadOf(tails),
    }),
  ];
}

/** From the call of `revoke` to the client's close event; the ratio is to the bar of 50 ms. */
async function revokeRow(): Promise<BenchRow> {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: echoUpstream });
  const { port } = await gateway.listenTcp(0);
  const times: number[] = [];
  for (let at = 0; at < revocations; at++) {
    const credential = gateway.issue(bootstrap, "one", "interactive");
    const headers = credential.exposeBearer((bearer) => ({ Authorization: `Bearer ${bearer}` }));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers } as never);
    const opened = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    socket.onopen = () => opened.resolve();
    socket.onclose = () => closed.resolve();
    await opened.promise;
    const started = performance.now();
    await Promise.all([gateway.revoke(bootstrap, credential), closed.promise]);
    times.push(performance.now() - started);
  }
  await gateway.stop();
  return row({
    bar: "revoke → socket closed, slowest",
    floor: "50 ms",
    value: `${Math.max(...times).toFixed(1)} ms`,
    ratio: Math.max(...times) / 50,
    limit: 1,
    sense: "at most",
    spread: `${spreadOf(times, 1)} ms`,
  });
}

/** The rows of the gateway's bars. */
export async function bench(): Promise<BenchRow[]> {
  return [...(await echoRows(1)), ...(await echoRows(30)), await revokeRow()];
}
