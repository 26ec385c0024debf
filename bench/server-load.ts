// `bun bench/server-load.ts`: 500 long polls wait while 2,000 reports a second are inserted, six seconds alone and six
// with stalled clients beside them; then a graceful stop answers every poll, and the server is started again on its port.
// Two rounds, each on a fresh data folder with 200 Sessions. Prints one line a figure; exit 1 when a bar is missed.
import { readFileSync } from "node:fs";
import { connectRunner, project, runId } from "./load-runner.ts";
import { inFolder, median, proctor, quantile } from "./measure.ts";
import { type RawCaller, rawCaller, rawPost } from "./raw-http.ts";

const [polls, sessions, perSecond, seconds, writers, rounds, restarts] = [500, 200, 2000, 6, 64, 2, 5];
const bars = { rssMiB: 256, stopMs: 2000, restartMs: 100 };
const token = "bootstrap-token-of-the-load-bench";
const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
const port = probe.port;
probe.stop(true);

type Answer = { success?: boolean; token?: string; output?: { session_id: string } };

async function post(path: string, body: unknown): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Answer;
}

const call = (tool: string, params: unknown) => post("/api/tools/call", { tool, params });
const request = (tool: string, params: unknown) =>
  rawPost({ port, path: "/api/tools/call", token, body: { tool, params } });

/** Starts the program and waits until it answers; the time is from the start of the process. */
async function start(folder: string) {
  const env = {
    HOME: folder,
    WEBCODEX_ADDR: `127.0.0.1:${port}`,
    WEBCODEX_DATA: `${folder}/data`,
    WEBCODEX_TOKEN: token,
  };
  const started = performance.now();
  const child = Bun.spawn([proctor, "server"], { cwd: folder, env, stdio: ["ignore", "ignore", "ignore"] });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answered = await rawCaller(port).then(
      async (caller) => {
        const answer = await caller.ask(Buffer.from(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`));
        caller.close();
        return answer.startsWith("HTTP/1.1 200");
      },
      () => false,
    );
    if (answered) return { child, ms: performance.now() - started };
    await Bun.sleep(1);
  }
}

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Clients that stop half way: in the head, in the body, and one that asks and never reads. */
async function stalled() {
  const seen = { refused: 0 };
  const whole = rawPost({ port, path: "/api/tools/list", token, body: { half: "way through" } });
  const open = (bytes: Uint8Array, reads: boolean) =>
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open(socket) {
          socket.write(bytes);
          if (!reads) socket.pause();
        },
        data(_socket, answer) {
          if (answer.toString("latin1").startsWith("HTTP/1.1 408")) seen.refused += 1;
        },
        error() {},
      },
    });
  const many = Buffer.concat(Array.from({ length: 200 }, () => whole));
  const sockets = await Promise.all([
    ...Array.from({ length: 20 }, () => open(whole.subarray(0, 40), true)),
    ...Array.from({ length: 20 }, () => open(whole.subarray(0, whole.length - 5), true)),
    ...Array.from({ length: 5 }, () => open(many, false)),
  ]);
  return { seen, close: () => sockets.forEach((socket) => void socket.terminate()) };
}

/** Inserts at a fixed pace whatever the answers do; the latency of each counts from when it was due. */
async function inserts(ids: readonly string[], adapter: string): Promise<{ rate: number; latencies: number[] }> {
  const total = perSecond * seconds;
  const requests = Array.from({ length: total }, (_, at) =>
    request("record_external_observation", {
      project,
      session_id: ids[at % ids.length],
      adapter_id: adapter.repeat(64),
      event_id: at.toString(16).padStart(64, "0"),
      observed_tool: "Bash",
      exit_code: 0,
    }),
  );
  const callers = await Promise.all(Array.from({ length: writers }, () => rawCaller(port)));
  const latencies: number[] = [];
  const started = performance.now();
  let next = 0;
  const work = async (caller: RawCaller) => {
    while (next < total) {
      const at = next++;
      const dueMs = (at * 1000) / perSecond;
      const early = dueMs - (performance.now() - started);
      if (early > 0.5) await Bun.sleep(early);
      const answer = await caller.ask(requests[at]!);
      if (!answer.includes('"inserted":true')) throw new Error(answer);
      latencies.push(performance.now() - started - dueMs);
    }
  };
  await Promise.all(callers.map(work));
  const rate = (total * 1000) / (performance.now() - started);
  for (const caller of callers) caller.close();
  return { rate, latencies };
}

async function round(folder: string) {
  const first = await start(folder);
  await post("/api/users/create", { username: "bench" });
  const agent = await post("/api/agent-tokens/create", { username: "bench", client_id: "host" });
  const runner = await connectRunner(port, agent.token!);
  const ids: string[] = [];
  for (let at = 0; at < sessions; at += 1)
    ids.push((await call("work_on_project", { project, instruction: `load ${at}` })).output!.session_id);

  const idleMiB = residentMiB(first.child.pid);
  const waiting = await Promise.all(Array.from({ length: polls }, () => rawCaller(port)));
  const observe = request("observe_coding_agent", { run_id: runId, wait_secs: 60 });
  const answers = waiting.map((caller) => caller.ask(observe));
  while (runner.waiting() < polls) await Bun.sleep(5);

  let peakMiB = 0;
  const watch = setInterval(() => {
    peakMiB = Math.max(peakMiB, residentMiB(first.child.pid));
  }, 50);
  const alone = await inserts(ids, "a");
  const slow = await stalled();
  const beside = await inserts(ids, "b");
  const stillWaiting = await Promise.race([Promise.any(answers).then(() => false), Bun.sleep(0).then(() => true)]);
  while (slow.seen.refused < 20) await Bun.sleep(50);
  clearInterval(watch);

  const asked = performance.now();
  first.child.kill("SIGINT");
  const said = await Promise.all(answers);
  const answeredMs = performance.now() - asked;
  await first.child.exited;
  const stopMs = performance.now() - asked;
  runner.close();
  slow.close();
  const told = said.filter((answer) => answer.includes("coding_agent_runner_unavailable")).length;

  const restartMs: number[] = [];
  for (let at = 0; at < restarts; at += 1) {
    const again = await start(folder);
    restartMs.push(again.ms);
    again.child.kill("SIGINT");
    await again.child.exited;
  }
  return {
    alone,
    beside,
    idleMiB,
    peakMiB,
    stillWaiting,
    answeredMs,
    stopMs,
    told,
    restartMs,
    refused: slow.seen.refused,
  };
}

const all: Array<Awaited<ReturnType<typeof round>>> = [];
for (let at = 0; at < rounds; at += 1) all.push(await inFolder(round));

let missed = 0;
function figure(
  name: string,
  values: readonly number[],
  bar?: { readonly most?: number; readonly least?: number },
): void {
  const value = median(values);
  const ok = value <= (bar?.most ?? Number.POSITIVE_INFINITY) && value >= (bar?.least ?? Number.NEGATIVE_INFINITY);
  if (!ok) missed += 1;
  const limit = bar === undefined ? "" : `${bar.most === undefined ? "at least" : "at most"} ${bar.most ?? bar.least}`;
  const shown = (n: number) => (n >= 100 ? n.toFixed(0) : n.toFixed(1));
  process.stdout.write(
    `| ${name} | ${shown(value)} | ${values.map(shown).join(", ")} | ${limit} | ${bar === undefined ? "" : ok ? "met" : "**missed**"} |\n`,
  );
}

process.stdout.write("| what | median | each | bar | verdict |\n|---|---|---|---|---|\n");
for (const [kind, name] of [
  ["alone", "beside the polls"],
  ["beside", "with stalled clients too"],
] as const) {
  figure(
    `inserts a second, ${name}`,
    all.map((one) => one[kind].rate),
    { least: perSecond * 0.99 },
  );
  figure(
    `insert p50 from when it was due, ${name}, ms`,
    all.map((one) => quantile(one[kind].latencies, 0.5)),
  );
  figure(
    `insert p99, ${name}, ms`,
    all.map((one) => quantile(one[kind].latencies, 0.99)),
  );
}
figure(
  "long polls that waited through it",
  all.map((one) => (one.stillWaiting ? polls : 0)),
  { least: polls },
);
figure(
  "long polls answered at the stop",
  all.map((one) => one.told),
  { least: polls },
);
figure(
  "resident MiB before the load",
  all.map((one) => one.idleMiB),
);
figure(
  "resident MiB at most",
  all.map((one) => one.peakMiB),
  { most: bars.rssMiB },
);
figure(
  "slow bodies refused with 408",
  all.map((one) => one.refused),
  { least: 20 },
);
figure(
  "polls answered after, ms",
  all.map((one) => one.answeredMs),
  { most: bars.stopMs },
);
figure(
  "graceful stop, ms",
  all.map((one) => one.stopMs),
  { most: bars.stopMs },
);
figure(
  "restart on the same port, ms",
  all.flatMap((one) => one.restartMs),
  { most: bars.restartMs },
);
process.exitCode = missed === 0 ? 0 : 1;
