// Drives many hook processes over several Sessions and ends them, and the server, by kill -9 at random moments. An
// event whose hook was not acknowledged is sent again, as a host would; one that was acknowledged never is, so that a
// lost save shows as a missing row.
import { holdsWithin, systemClock } from "../../src/base/clock.ts";
import { adapterId, eventId } from "../../src/hooks/event.ts";
import type { Json } from "../server/served.ts";
import type { Plane, PlaneDesk } from "./plane.ts";

export interface CrashPlan {
  readonly binary: string;
  readonly sessions: number;
  readonly events: number;
  readonly kills: number;
  readonly restarts: number;
  readonly workers: number;
  readonly seed: number;
}

export interface CrashResult {
  readonly rows: number;
  readonly distinct: number;
  readonly missing: number;
  readonly foreign: number;
  readonly left: number;
  readonly killed: number;
  readonly killedAfterItsEnd: number;
  readonly sentAgain: number;
  readonly failed: number;
  readonly restarts: number;
}

interface Event {
  readonly desk: PlaneDesk;
  readonly call: string;
}

interface Loop {
  readonly plan: CrashPlan;
  readonly plane: Plane;
  readonly random: () => number;
  readonly waiting: Event[];
  readonly lasted: number[];
  killsLeft: number;
  acknowledged: number;
  counts: { killed: number; killedAfterItsEnd: number; sentAgain: number; failed: number; restarts: number };
}

/** Runs the plan to its end and looks at every Session's rows. */
export async function crashLoop(plane: Plane, plan: CrashPlan): Promise<CrashResult> {
  const desks: PlaneDesk[] = [];
  for (let at = 0; at < plan.sessions; at += 1) desks.push(plane.desk(await plane.session(`session ${at}`)));
  const loop: Loop = {
    plan,
    plane,
    random: numbersFrom(plan.seed),
    waiting: Array.from({ length: plan.events }, (_, at) => ({ desk: desks[at % desks.length]!, call: `call-${at}` })),
    lasted: [],
    killsLeft: plan.kills,
    acknowledged: 0,
    counts: { killed: 0, killedAfterItsEnd: 0, sentAgain: 0, failed: 0, restarts: 0 },
  };
  await Promise.all([...Array.from({ length: plan.workers }, () => work(loop)), restartServer(loop)]);
  for (const desk of desks) await deliverAll(loop, desk);
  return await judge(loop, desks);
}

async function work(loop: Loop): Promise<void> {
  for (let event = loop.waiting.pop(); event !== undefined; event = loop.waiting.pop()) {
    if (await send(loop, event)) loop.acknowledged += 1;
    else {
      loop.counts.sentAgain += 1;
      // Put somewhere among the others: a host's next call may come first.
      loop.waiting.splice(Math.floor(loop.random() * (loop.waiting.length + 1)), 0, event);
    }
  }
}

/** One hook process; true when it acknowledged the save. */
async function send(loop: Loop, { desk, call }: Event): Promise<boolean> {
  const { random, plan } = loop;
  const deliver = random() < 0.5 ? "background" : "inline";
  const started = performance.now();
  const child = Bun.spawn([plan.binary, "hook", "observe", "--config", desk.configPath, "--deliver", deliver], {
    ...{ cwd: "/", env: {}, stdin: Buffer.from(desk.payload(call)), stdout: "ignore", stderr: "pipe" },
  });
  const left = loop.waiting.length + 1;
  const kills = loop.killsLeft > 0 && random() < (loop.killsLeft / left) * 1.2;
  if (kills) {
    loop.killsLeft -= 1;
    loop.counts.killed += 1;
    await Promise.race([systemClock.sleep(random() * typical(loop.lasted)), child.exited]);
    if (child.exitCode === null) child.kill("SIGKILL");
    else loop.counts.killedAfterItsEnd += 1;
  }
  const [code, said] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  if (!kills) loop.lasted.push(performance.now() - started);
  // Exit 1 with `saved` acknowledges the save as well: only the delivery failed.
  const saved = code === 0 || said.includes('"saved": true');
  if (!saved && !kills) loop.counts.failed += 1;
  return saved;
}

function typical(lasted: readonly number[]): number {
  const last = lasted.slice(-50).sort((a, b) => a - b);
  return last[last.length >> 1] ?? 100;
}

async function restartServer(loop: Loop): Promise<void> {
  const { plan, plane, random } = loop;
  for (let at = 1; at <= plan.restarts; at += 1) {
    const due = ((at - random()) / plan.restarts) * plan.events;
    await holdsWithin(() => loop.acknowledged >= due, { withinMs: 3_600_000, everyMs: 20 });
    await plane.endServer("SIGKILL");
    // Some hooks meet nobody.
    await systemClock.sleep(random() * 500);
    await plane.startServer();
    loop.counts.restarts += 1;
  }
}

async function deliverAll(loop: Loop, desk: PlaneDesk): Promise<void> {
  const flush = async () => {
    const words = ["hook", "observe", "--config", desk.configPath, "--flush"];
    const child = Bun.spawn([loop.plan.binary, ...words], { cwd: "/", env: {}, stdout: "ignore", stderr: "ignore" });
    return (await child.exited) === 0 && desk.pending().length === 0;
  };
  await holdsWithin(flush, { withinMs: 120_000, everyMs: 200 });
}

async function judge(loop: Loop, desks: readonly PlaneDesk[]): Promise<CrashResult> {
  let [rows, missing, foreign, left] = [0, 0, 0, 0];
  const seen = new Set<string>();
  for (const [at, desk] of desks.entries()) {
    const stored: Json[] = await loop.plane.rows(desk.sessionId);
    const key = (row: Json) => `${desk.sessionId} ${row["adapter_id"]} ${row["event_id"]}`;
    const expected = new Set<string>();
    for (let number = at; number < loop.plan.events; number += desks.length) {
      const event_id = eventId(desk.conversation, `call-${number}`);
      expected.add(key({ adapter_id: adapterId(desk.conversation), event_id }));
    }
    rows += stored.length;
    left += desk.pending().length;
    const found = stored.map(key);
    for (const one of found) seen.add(one);
    foreign += found.filter((one) => !expected.has(one)).length;
    missing += [...expected].filter((one) => !found.includes(one)).length;
  }
  return { rows, distinct: seen.size, missing, foreign, left, ...loop.counts };
}

/** Repeatable numbers between 0 and 1 (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
