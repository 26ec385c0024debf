// The rim's bounds, each at its limit and one past it: body bytes and depth, requests in flight, rates, long polls.
import { expect, test } from "bun:test";
import { Secret } from "../../src/base/secret.ts";
import { serverLimits } from "../../src/server/limits.ts";
import { defaultRates, type RateLimits, Rates } from "../../src/server/rates.ts";
import { openServer, type RunningServer } from "../../src/server/server.ts";
import { handClock } from "../support/hand-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { annsRunner, project } from "./anns-runner.ts";
import { bootstrap } from "./served.ts";

function start(folder: string, more: object = {}): Promise<RunningServer> {
  return openServer({
    address: "127.0.0.1:0",
    dataFolder: `${folder}/data`,
    bootstrap: Secret.from(bootstrap),
    openLink: () => annsRunner(),
    clock: handClock(),
    ...more,
  });
}

function send(server: RunningServer, body: BodyInit, token = bootstrap): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fetch(`${server.url}/api/tools/call`, { method: "POST", headers, body });
}

test("a body of the largest size and depth is read, one byte or one level more is not, chunked or declared", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const call = '{"tool":"list_projects","params":{}}';
  const most = call + " ".repeat(serverLimits.maxBodyBytes - call.length);
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const chunked = (text: string) =>
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += 500_000)
          controller.enqueue(new TextEncoder().encode(text.slice(at, at + 500_000)));
        controller.close();
      },
    });

  const status = async (body: BodyInit) => {
    const answer = await send(server, body);
    return [answer.status, ((await answer.json()) as { error?: string }).error?.includes("too_deep") === true];
  };
  const seen = [
    await status(most),
    await status(`${most} `),
    await status(chunked(most)),
    await status(chunked(`${most} `)),
    await status(nested(serverLimits.maxJsonDepth)),
    await status(nested(serverLimits.maxJsonDepth + 1)),
  ];
  await server.close();

  expect(seen.slice(0, 4)).toEqual([
    [200, false],
    [413, false],
    [200, false],
    [413, false],
  ]);
  expect(seen.slice(4).map(([, deep]) => deep)).toEqual([false, true]);
});

test("requests in flight are bounded for one caller and for all; a place that is given back is taken again", async () => {
  await using dir = await tempFolder();
  const rates: RateLimits = { ...defaultRates, maxInFlightPerPrincipal: 2 };
  const waiting: Array<() => void> = [];
  const request = () =>
    new Promise<{ outcome: "offline" }>((resolve) => {
      waiting.push(() => resolve({ outcome: "offline" }));
      if (waiting.length === 2) entered.resolve();
    });
  const entered = Promise.withResolvers<void>();
  const server = await start(dir.path, { rates, openLink: () => annsRunner(request) });
  const read = JSON.stringify({ tool: "read_files", params: { project, items: [{ path: "a" }] } });
  const list = JSON.stringify({ tool: "list_projects", params: {} });

  const held = [send(server, read), send(server, read)];
  await entered.promise;
  const past = await send(server, list);
  for (const answer of waiting) answer();
  const answered = await Promise.all(held);
  const after = await send(server, list);
  await server.close();

  expect([past.status, past.headers.get("retry-after")]).toEqual([429, "1"]);
  expect([...answered, after].map((one) => one.status)).toEqual([200, 200, 200]);
});

test("a caller's burst ends at its size and fills again with time; another caller is not touched", async () => {
  await using dir = await tempFolder();
  const clock = handClock();
  const rates: RateLimits = { ...defaultRates, requestBurst: 3, requestsPerSecond: 1 };
  const server = await start(dir.path, { rates, clock });
  const list = JSON.stringify({ tool: "list_projects", params: {} });

  const statuses: number[] = [];
  for (let at = 0; at < 4; at += 1) statuses.push((await send(server, list)).status);
  clock.advance(1000);
  for (let at = 0; at < 2; at += 1) statuses.push((await send(server, list)).status);
  await server.close();

  expect(statuses).toEqual([200, 200, 200, 429, 200, 429]);
});

test("wrong bearers are answered one by one up to their rate, then all at once, and never cost a right one", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const list = JSON.stringify({ tool: "list_projects", params: {} });

  const wrong: number[] = [];
  for (let at = 0; at <= serverLimits.refusedBearersPerSecond; at += 1)
    wrong.push((await send(server, list, `wrong-${at}`)).status);
  const right = await send(server, list);
  await server.close();

  expect(wrong.indexOf(429)).toBe(serverLimits.refusedBearersPerSecond);
  expect(right.status).toBe(200);
});

test("Rates bounds long polls and all requests together at the limits the server ships with", () => {
  const rates = new Rates();

  const polls = Array.from({ length: serverLimits.maxLongPolls }, () => rates.enterLongPoll());
  const past = rates.enterLongPoll();
  polls[0]?.();
  polls[0]?.(); // leaving twice gives back one place
  const again = [rates.enterLongPoll(), rates.enterLongPoll()];
  const owners = Array.from({ length: serverLimits.maxRequestsInFlight + 1 }, (_, at) => `owner-${at % 4}`);
  const entered = owners.map((owner) => rates.enter(owner, 0));

  expect(polls).not.toContain(null);
  expect(past).toBeNull();
  expect(again.map((one) => one === null)).toEqual([false, true]);
  expect(entered.findIndex((one) => typeof one === "string")).toBe(serverLimits.maxRequestsInFlight);
  expect(entered.at(-1)).toBe("busy");
});

test("Rates keeps one caller from taking every place: its own bound comes first", () => {
  const rates = new Rates();

  const entered = Array.from({ length: serverLimits.maxRequestsInFlightPerPrincipal + 1 }, () => rates.enter("one", 0));

  expect(entered.findIndex((one) => typeof one === "string")).toBe(serverLimits.maxRequestsInFlightPerPrincipal);
  expect(entered.at(-1)).toBe("too_many");
  expect(typeof rates.enter("two", 0)).toBe("function");
});
