// `bun bench/gateway-load.ts [MINUTES [ROUNDS]]`: 30 clients at full speed for five minutes unless told, each of whose
// answers must come once and in order while memory stays bounded; then rounds of 10 s with and without one stalled and
// one hostile client beside them, whose median ratio of the p99s must be at most 1.3.
import { readFileSync } from "node:fs";
import { openHostile, openStalled } from "./gateway-misbehaving.ts";
import { median, quantile, spreadOf } from "./measure.ts";

const clients = 30;
const windowSize = 8;
const roundMs = 10_000;

interface Server extends AsyncDisposable {
  readonly port: number;
  readonly bearers: readonly string[];
  rssMb(): number;
  alive(): boolean;
}

async function startServer(): Promise<Server> {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/gateway-server.ts`, "gateway"], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const told = await child.stdout.getReader().read();
  const facts = JSON.parse(new TextDecoder().decode(told.value)) as { port: number; bearers: string[] };
  return {
    ...facts,
    rssMb: () => Number(/VmRSS:\s+([0-9]+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
    alive: () => child.exitCode === null,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

interface Good {
  /** Keeps `inFlight` numbered calls under way for `forMs`; gives the time of each. */
  run(forMs: number, inFlight: number): Promise<number[]>;
  readonly faults: () => number;
  close(): void;
}

async function connectGood(server: Server, bearer: string): Promise<Good> {
  const headers = { Authorization: `Bearer ${bearer}` };
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/`, { headers } as never);
  const ready = Promise.withResolvers<void>();
  let faults = 0;
  let read: (text: string) => void = (text) => text.includes("remoteControl/") && ready.resolve();
  socket.onopen = () => socket.send('{"id":"hello","method":"initialize","params":{}}');
  socket.onmessage = (event) => read(String(event.data));
  socket.onclose = () => {
    faults++;
    ready.reject(new Error("closed"));
  };
  await ready.promise;
  const padding = "x".repeat(130);
  let next = 0;
  let expected = 0;
  const sentAt = new Map<number, number>();
  const ask = () => {
    const number = next++;
    sentAt.set(number, performance.now());
    socket.send(`{"id":${number},"method":"model/list","params":{"n":${number},"text":"${padding}"}}`);
  };
  return {
    run(forMs, inFlight) {
      const times: number[] = [];
      const end = performance.now() + forMs;
      const done = Promise.withResolvers<number[]>();
      read = (text) => {
        const now = performance.now();
        const number = expected++;
        // Exactly the next answer, with its own id and its own number inside: none lost, none twice, none out of order.
        if (!text.startsWith(`{"id":${number},"result":{"n":${number},`)) faults++;
        times.push(now - sentAt.get(number)!);
        sentAt.delete(number);
        if (now < end) ask();
        else if (sentAt.size === 0) done.resolve(times);
      };
      for (let at = 0; at < inFlight; at++) ask();
      return done.promise;
    },
    faults: () => faults,
    close() {
      socket.onclose = () => {};
      socket.close();
    },
  };
}

const openGood = (server: Server) =>
  Promise.all(server.bearers.slice(0, clients).map((one) => connectGood(server, one)));

/** No loss, no reordering, bounded memory. */
async function fullSpeed(minutes: number): Promise<boolean> {
  await using server = await startServer();
  const good = await openGood(server);
  const slices = Math.max(4, Math.round((minutes * 60_000) / 5_000));
  const memory: number[] = [];
  let total = 0;
  for (let slice = 0; slice < slices; slice++) {
    const times = await Promise.all(good.map((one) => one.run((minutes * 60_000) / slices, windowSize)));
    total += times.reduce((sum, one) => sum + one.length, 0);
    memory.push(server.rssMb());
  }
  const faults = good.reduce((sum, one) => sum + one.faults(), 0);
  for (const one of good) one.close();
  // The first quarter is the runtime's own warming up; after it memory may move by a quarter of it.
  const early = Math.max(...memory.slice(0, Math.ceil(slices / 4)));
  const late = Math.max(...memory.slice(Math.ceil(slices / 4)));
  const passed = faults === 0 && server.alive() && late <= early * 1.25 + 16;
  const shown = {
    minutes,
    clients,
    messages: total,
    faults,
    earlyMb: Math.round(early),
    lateMb: Math.round(late),
    passed,
  };
  process.stdout.write(`${JSON.stringify(shown)}\n`);
  return passed;
}

/** The stalled and the hostile client; `turn` begins what they do, the next one ends it. */
function startMisbehaving(server: Server): AsyncDisposable & { turn(): Promise<void> } {
  const path = `${import.meta.dir}/gateway-misbehaving.ts`;
  const child = Bun.spawn([process.execPath, path, `${server.port}`, ...server.bearers.slice(clients, clients + 2)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const answers = child.stdout.getReader();
  return {
    async turn() {
      child.stdin.write(".");
      child.stdin.flush();
      // Without them the measure would pass for nothing.
      if ((await answers.read()).done) throw new Error("the two who misbehave have ended");
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** The p99 of 30 clients in lockstep, with and without the two others, round for round. */
async function beside(rounds: number): Promise<boolean> {
  await using server = await startServer();
  const good = await openGood(server);
  await Promise.all(good.map((one) => one.run(2_000, 1)));
  const p99 = async () => quantile((await Promise.all(good.map((one) => one.run(roundMs, 1)))).flat(), 0.99);
  await using two = startMisbehaving(server);
  const withThem = async () => {
    await two.turn();
    const value = await p99();
    await two.turn();
    return value;
  };
  const [alone, accompanied]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) alone.push(await p99());
    accompanied.push(await withThem());
    if (round % 2 === 1) alone.push(await p99());
  }
  const ratios = accompanied.map((value, at) => value / alone[at]!);
  const faults = good.reduce((sum, one) => sum + one.faults(), 0);
  for (const one of good) one.close();
  const passed = median(ratios) <= 1.3 && faults === 0 && server.alive();
  const shown = {
    rounds,
    aloneP99Ms: median(alone).toFixed(2),
    besideP99Ms: median(accompanied).toFixed(2),
    ratio: median(ratios).toFixed(2),
    spread: spreadOf(ratios),
    faults,
    rssMb: Math.round(server.rssMb()),
    passed,
  };
  process.stdout.write(`${JSON.stringify(shown)}\n`);
  return passed;
}

/** The small version for the suite: everybody at once for a moment, judged by what came and by nothing that is timed. */
export async function everybodyAtOnce(forMs: number): Promise<{ messages: number; faults: number; alive: boolean }> {
  await using server = await startServer();
  const good = await openGood(server);
  const { port, bearers } = server;
  const stop = [openStalled({ port, bearer: bearers[clients]! }), openHostile({ port, bearer: bearers[clients + 1]! })];
  const times = await Promise.all(good.map((one) => one.run(forMs, windowSize)));
  for (const one of stop) one();
  for (const one of good) one.close();
  return {
    messages: times.reduce((sum, one) => sum + one.length, 0),
    faults: good.reduce((sum, one) => sum + one.faults(), 0),
    alive: server.alive(),
  };
}

if (import.meta.main) {
  const [minutes, rounds] = process.argv.slice(2).map(Number);
  const steady = await fullSpeed(minutes ?? 5);
  const fair = await beside(rounds ?? 7);
  process.exitCode = steady && fair ? 0 : 1;
}
