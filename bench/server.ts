// Bars: durable observation inserts over HTTP with 32 callers, against the same group commit in process with 32
// callers and against a commit a row. The server is the compiled program; the floors use its own store and insert.
import { Secret } from "../src/base/secret.ts";
import { noRunners } from "../src/server/no-runners.ts";
import { recordReport } from "../src/server/observations.ts";
import { openServer } from "../src/server/server.ts";
import { openStore, type Store } from "../src/server/store.ts";
import { type BenchRow, inFolder, median, proctor, row, spreadOf } from "./measure.ts";
import { rawCaller, rawPost } from "./raw-http.ts";

const callers = 32;
const rounds = 7;
const inserts = 4096;
const singles = 512;
const project = "agent:host:bench";
const bootstrap = "bootstrap-token-of-the-bench";

let made = 0;

function nextReport(sessionId: string) {
  made += 1;
  const event_id = made.toString(16).padStart(64, "0");
  return { project, session_id: sessionId, adapter_id: "a".repeat(64), event_id };
}

/** Rows a second of `total` inserts made by `width` callers, each waiting for its own before the next. */
async function rate(
  total: number,
  options: { readonly width: number; readonly insert: (caller: number) => Promise<unknown> },
) {
  let left = total;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: options.width }, async (_, caller) => {
      while (left > 0) {
        left -= 1;
        await options.insert(caller);
      }
    }),
  );
  return (total * 1000) / (performance.now() - started);
}

function storeInsert(store: Store): () => Promise<unknown> {
  const sessionId = "in-process";
  return () => {
    const report = { ...nextReport(sessionId), tool: "Bash", exit_code: 0 };
    return store.write((db) => recordReport(db, report, { perSession: 65_536, nowMs: Date.now() }));
  };
}

/** The same inserts over HTTP: the requests are built before the clock starts, every answer must say "inserted". */
async function httpRate(port: number, sessionId: string): Promise<number> {
  const tool = "record_external_observation";
  const requests = Array.from({ length: inserts }, () => {
    const params = { ...nextReport(sessionId), observed_tool: "Bash", exit_code: 0 };
    return rawPost({ port, path: "/api/tools/call", token: bootstrap, body: { tool, params } });
  });
  const clients = await Promise.all(Array.from({ length: callers }, () => rawCaller(port)));
  let next = 0;
  const insert = async (caller: number) => {
    const answer = await clients[caller]!.ask(requests[next++]!);
    if (!answer.startsWith("HTTP/1.1 200") || !answer.includes('"inserted":true')) throw new Error(answer);
  };
  try {
    return await rate(inserts, { width: callers, insert });
  } finally {
    for (const client of clients) client.close();
  }
}

/** Opens the session by a server of this process on which a Runner seems connected; the measured one needs none. */
async function madeSession(folder: string): Promise<string> {
  const seen = { clientId: "host", owner: "ann", instanceId: "one", capabilities: {}, providers: [] };
  const offered = { id: project, clientId: "host", projectId: "bench", name: null, path: "/x", allowPatch: false };
  const projects = [{ ...offered, disabled: false, description: null, revision: null }];
  const runner = { ...seen, projects, registeredAtMs: 1, lastSeenMs: 1 };
  const server = await openServer({
    address: "127.0.0.1:0",
    dataFolder: `${folder}/data`,
    bootstrap: Secret.from(bootstrap),
    openLink: () => ({ ...noRunners(), runners: () => [runner] }),
  });
  const answer = await call(server.url, "work_on_project", { project, instruction: "measure" });
  await server.close();
  return answer.output.session_id;
}

// biome-ignore lint/suspicious/noExplicitAny: the bench ends on any answer of another shape.
async function call(url: string, tool: string, params: unknown): Promise<any> {
  const answer = await fetch(`${url}/api/tools/call`, {
    method: "POST",
    headers: { authorization: `Bearer ${bootstrap}`, "content-type": "application/json" },
    body: JSON.stringify({ tool, params }),
  });
  const body = (await answer.json()) as { success?: boolean };
  if (body.success !== true) throw new Error(JSON.stringify(body));
  return body;
}

async function startServer(folder: string) {
  const env = {
    HOME: folder,
    WEBCODEX_ADDR: "127.0.0.1:0",
    WEBCODEX_DATA: `${folder}/data`,
    WEBCODEX_TOKEN: bootstrap,
  };
  const child = Bun.spawn([proctor, "server", "--observations-per-session", "65536"], {
    cwd: folder,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  for await (const part of child.stderr) {
    log += new TextDecoder().decode(part);
    const port = /"event":"listening","port":(\d+)/.exec(log)?.[1];
    if (port !== undefined) return { child, port: Number(port) };
  }
  throw new Error(`the server did not start: ${log}`);
}

export async function bench(): Promise<BenchRow[]> {
  return await inFolder(async (folder) => {
    const sessionId = await madeSession(folder);
    const { child, port } = await startServer(folder);
    const grouped = openStore(`${folder}/grouped.sqlite`, { wallMs: 1 });
    const single = openStore(`${folder}/single.sqlite`, { wallMs: 1 });
    const rates = { http: [] as number[], group: [] as number[], row: [] as number[] };
    try {
      for (let round = 0; round < rounds; round += 1) {
        const http = await httpRate(port, sessionId);
        const group = await rate(inserts, { width: callers, insert: storeInsert(grouped) });
        const one = await rate(singles, { width: 1, insert: storeInsert(single) });
        if (round === 0) continue; // warms files and code
        rates.http.push(http);
        rates.group.push(group);
        rates.row.push(one);
      }
    } finally {
      child.kill("SIGINT");
      await child.exited;
      grouped.close();
      single.close();
    }
    return bars(rates);
  });
}

function bars(rates: { readonly http: number[]; readonly group: number[]; readonly row: number[] }): BenchRow[] {
  const [http, group, one] = [median(rates.http), median(rates.group), median(rates.row)];
  const common = {
    value: `${http.toFixed(0)} rows/s`,
    sense: "at least",
    spread: `${spreadOf(rates.http, 0)} rows/s`,
  } as const;
  return [
    row({
      ...common,
      bar: "server: durable inserts over HTTP, 32 callers",
      floor: `the same group commit in process, ${group.toFixed(0)} rows/s`,
      ratio: http / group,
      limit: 0.25,
    }),
    row({
      ...common,
      bar: "server: durable inserts over HTTP, 32 callers, by commits saved",
      floor: `a commit a row, ${one.toFixed(0)} rows/s`,
      ratio: http / one,
      limit: 3,
    }),
  ];
}
