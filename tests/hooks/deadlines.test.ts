// Time and space run out: a clock that jumps, a disk that is full, a server that is slow in each of three requests.
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { selfCommand } from "../../src/base/self.ts";
import type { Delivery } from "../../src/hooks/acknowledgement.ts";
import { loadConfig } from "../../src/hooks/config-file.ts";
import { drain } from "../../src/hooks/delivery.ts";
import type { Asker } from "../../src/hooks/handoff.ts";
import { observe } from "../../src/hooks/observe.ts";
import { recover } from "../../src/hooks/recover.ts";
import { associate } from "../../src/hooks/recovery.ts";
import { handClock } from "../support/hand-clock.ts";
import { type Desk, desk, writePrivate } from "./desk.ts";

const inputOf = (text: string) => ({ bytes: Buffer.from(text), overLimit: false, ended: true });
const records = (d: Desk) => readdirSync(d.state).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));

test("a wall clock that jumps a year either way costs no report and no budget", async () => {
  await using d = await desk();
  const stopped: Delivery = { outcome: "stopped", code: "recording_unconfirmed_check_pending_state" };
  const year = 365 * 86_400_000;
  for (const [i, wall] of [Date.now() + year, Date.now() - year, 0].entries()) {
    const input = inputOf(d.payload({ tool_use_id: `call-${i}` }));
    const options = {
      configPath: d.configPath,
      deliver: "inline",
      send: async () => stopped,
      wallMs: () => wall,
    } as const;
    expect((await observe(input, options)).saved).toBe(true);
  }
  const clock = handClock();
  let wall = 0;
  const jumping = { ...clock, wallMs: () => (wall += year), monotonicMs: clock.monotonicMs };
  const send = async (): Promise<Delivery> => ({ outcome: "acknowledged" });

  const result = await drain(loadConfig(d.configPath), { retryRefused: false, send, clock: jumping });

  expect([result.acknowledged, result.left.size, records(d)]).toEqual([3, 0, []]);
});

test.skipIf(Bun.which("prlimit") === null)(
  "a disk without room makes an incomplete, not a claim; the next run saves",
  async () => {
    await using d = await desk("http://127.0.0.1:1");
    const self = selfCommand(["hook", "observe", "--config", d.configPath, "--deliver", "background"]);
    const child = Bun.spawn([Bun.which("prlimit")!, "--fsize=16", "--", self.command, ...self.args], {
      cwd: "/",
      env: {},
      stdin: new Blob([d.payload()]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);

    expect([code, JSON.parse(stderr)]).toEqual([1, { status: "incomplete", reason: "event_not_saved" }]);
    const again = await observe(inputOf(d.payload()), {
      configPath: d.configPath,
      deliver: "background",
      startFlush: () => {},
    });
    expect([again.status, records(d).length]).toEqual(["saved", 1]);
  },
  60_000,
);

test("all requests of one recovery share six seconds", async () => {
  await using d = await desk();
  const registryPath = `${d.path}/registry.json`;
  const registry = {
    version: 1,
    server_url: "http://127.0.0.1:1",
    authorization_file: `${d.path}/auth`,
    state_dir: d.state,
  };
  writePrivate(registryPath, JSON.stringify({ ...registry, bindings: [] }));
  let [now, costMs] = [0, 0];
  const timeouts: number[] = [];
  const brief = {
    session: { session_id: "wc_sess_fixture" },
    basis: { complete: false },
    external_observations: {
      provenance: "external_report",
      coverage: { complete: false },
      observations: [],
      unknown_count: 0,
    },
    deterministic: true,
    llm_summary: false,
  };
  const ask: Asker = async (_, question) => {
    timeouts.push(question.timeoutMs);
    now += costMs;
    const json = (value: object) => ({ status: 200, body: Buffer.from(JSON.stringify(value)) });
    if (question.route.endsWith("/projects")) {
      return json({ projects: [{ id: "agent:fixture:project", path: d.project }], total: 1, truncated: false });
    }
    if (question.route.endsWith("/workflow-sessions"))
      return json({ sessions: [{ session_id: "wc_sess_fixture" }], truncated: false });
    const output = { project: "agent:fixture:project", session_id: "wc_sess_fixture", handoff_brief: brief };
    return json({ success: true, output });
  };
  await associate(
    { projectRoot: d.project, session: "wc_sess_fixture", entryRoots: [d.project], localSession: "" },
    { registryPath, ask },
  );
  const payload = inputOf(JSON.stringify({ hook_event_name: "SessionStart", session_id: "local-one", cwd: d.project }));
  const run = async (ms: number) => {
    [now, costMs] = [0, ms];
    timeouts.length = 0;
    return await recover(payload, { registryPath, ask, nowMs: () => now });
  };

  const enough = await run(2_900);
  expect([enough.failed, timeouts]).toEqual([false, [6_000, 3_100, 200]]);
  const late = await run(3_000);
  expect([late.failed, JSON.parse(late.text).reason, timeouts]).toEqual([true, "read_unconfirmed", [6_000, 3_000]]);
});
