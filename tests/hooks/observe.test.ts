// The observing hook as a real process against a real server: saved first, delivered exactly, refused visibly.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { tryLock } from "../../src/base/file-lock.ts";
import { selfCommand } from "../../src/base/self.ts";
import { type Asked, acknowledge, desk, recordingServer, runProctor, writePrivate } from "./desk.ts";

const records = (state: string) => readdirSync(state).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));
const observe = (config: string, ...more: string[]) => ["hook", "observe", "--config", config, ...more];

test("observe sends exactly the report and nothing else of the payload (O082, O094, O095, O099)", async () => {
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk(server.url);
  const input = d.payload({ tool_input: { command: "CANARY-IN" }, tool_response: "CANARY-OUT exit code 0" });

  const run = await runProctor(observe(d.configPath), { input });

  expect([run.code, run.stdout, JSON.parse(run.stderr)]).toEqual([0, "", { status: "recorded", acknowledged: 1 }]);
  expect(server.asked.map((one) => [one.path, one.authorization, one.origin])).toEqual([
    ["/api/tools/call", "Bearer fixture", null],
  ]);
  expect(server.asked[0]!.body).toEqual({
    tool: "record_external_observation",
    params: {
      project: "agent:fixture:project",
      session_id: "wc_sess_fixture",
      adapter_id: "9a5a23deda42b9d92b066409636f2b68d4773daf54984ca915b44f25b8e6c32f",
      event_id: "2ec81071d3501c2817b48e7fcb748d66a545b170e30f9cf318860b252bd08ef7",
      observed_tool: "Bash",
      exit_code: null,
    },
  });
  expect(records(d.state)).toEqual([]);
  for (const name of readdirSync(d.state)) expect(readFileSync(`${d.state}/${name}`, "utf8")).not.toContain("CANARY");
});

test("observe keeps what no server acknowledged and --flush sends the same again (O101, O102, O104)", async () => {
  const answers: Array<(asked: Asked) => Response> = [
    () => new Response("<html>not us</html>", { headers: { "content-type": "text/html" } }),
    (asked) => acknowledge(asked, { output: { project: "agent:other:project" } }),
    (asked) => acknowledge(asked, { observation: { tool: "Other" } }),
    () => new Response(null, { status: 302, headers: { location: "/elsewhere" } }),
    () => new Response("x".repeat(131_073)),
    () => new Response("", { status: 500 }),
  ];
  for (const answer of answers) {
    let healthy = false;
    await using server = recordingServer((asked) => (healthy ? acknowledge(asked) : answer(asked)));
    await using d = await desk(server.url);

    const first = await runProctor(observe(d.configPath), { input: d.payload() });
    healthy = true;
    const second = await runProctor(observe(d.configPath, "--flush"));

    expect([first.code, first.stdout, JSON.parse(first.stderr).saved]).toEqual([1, "", true]);
    expect([second.code, JSON.parse(second.stdout)]).toEqual([0, { status: "recorded", acknowledged: 1 }]);
    expect(server.asked.map((one) => one.path)).toEqual(["/api/tools/call", "/api/tools/call"]);
    expect(server.asked[1]!.body).toEqual(server.asked[0]!.body);
    expect(records(d.state)).toEqual([]);
  }
}, 120_000);

test("observe refuses what is not exactly the configured conversation and folder (O096, O098, O137)", async () => {
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk(server.url);
  const cases: Array<readonly [Record<string, unknown>, number, string]> = [
    [{ hook_event_name: "Stop" }, 0, "ignored"],
    [{ hook_event_name: undefined }, 0, "ignored"],
    [{ session_id: "other" }, 1, "local_session_mismatch"],
    [{ cwd: d.path }, 1, "project_root_mismatch"],
    [{ tool_use_id: null }, 1, "missing_tool_identity"],
    [{ tool_use_id: "x".repeat(257) }, 1, "missing_tool_identity"],
    [{ tool_name: 7 }, 1, "invalid_tool_name"],
  ];

  for (const [changes, code, word] of cases) {
    const run = await runProctor(observe(d.configPath), { input: d.payload(changes) });
    expect([run.code, run.stdout]).toEqual([code, ""]);
    expect(run.stderr).toContain(word);
  }
  expect(server.asked).toEqual([]);
  expect(records(d.state)).toEqual([]);
}, 120_000);

test("observe reads any input to its end and refuses what is no object (O097, B29)", async () => {
  await using d = await desk();
  const body = d.payload({ hook_event_name: "Stop" });
  const fill = (total: number) => `${body.slice(0, -1)},"pad":"${"x".repeat(total - body.length - 9)}"}`;
  const bom = new Uint8Array([0xef, 0xbb, 0xbf]);
  const cases: Array<readonly [string | Uint8Array, number, string]> = [
    [fill(131_072), 0, "ignored"],
    [fill(131_073), 1, "input_too_large"],
    [fill(2 * 1024 * 1024), 1, "input_too_large"],
    [Buffer.concat([bom, bom, Buffer.from(body)]), 0, "ignored"],
    [bom, 1, "invalid_hook_payload"],
    [Buffer.from(`\ufeff${body}`, "utf16le"), 1, "invalid_hook_payload"],
    [`${body}${body}`, 1, "invalid_hook_payload"],
    [`${body}\0`, 1, "invalid_hook_payload"],
    ['{"a": "', 1, "invalid_hook_payload"],
    ["", 1, "invalid_hook_payload"],
    ["[]", 1, "invalid_hook_payload"],
  ];

  for (const [input, code, word] of cases) {
    const run = await runProctor(observe(d.configPath), { input });
    expect(run.stderr).toContain(word);
    expect([run.code, run.stdout]).toEqual([code, ""]);
  }
}, 120_000);

test("a helper's call with the same id is a report of its own and a replay is none (B31)", async () => {
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk(server.url);

  for (const changes of [{ agent_id: "a" }, { agent_id: "b" }, { agent_id: "a" }, {}]) {
    await runProctor(observe(d.configPath), { input: d.payload(changes) });
  }

  const ids = server.asked.map((one) => one.body.params["event_id"]);
  expect(new Set(ids).size).toBe(3);
  expect(ids[2]).toBe(ids[0]);
}, 120_000);

test("one bad record blocks no other and every one stays as it is (O106, O107)", async () => {
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk();
  await runProctor(observe(d.configPath), { input: d.payload({ tool_use_id: "old" }) });
  const [foreign] = records(d.state);
  const foreignBytes = readFileSync(`${d.state}/${foreign}`);
  d.configure({ server_url: server.url });
  writePrivate(`${d.state}/${"0".repeat(64)}.json`, "{broken");
  symlinkSync(d.configPath, `${d.state}/${"1".repeat(64)}.json`);
  mkdirSync(`${d.state}/${"2".repeat(64)}.json`);

  const run = await runProctor(observe(d.configPath), { input: d.payload() });
  const flush = await runProctor(observe(d.configPath, "--flush"));

  expect([run.code, JSON.parse(run.stderr)]).toEqual([
    0,
    { status: "recorded", acknowledged: 1, left: { pending: 0, foreign: 1, corrupt: 3, refused: 0 } },
  ]);
  expect([flush.code, JSON.parse(flush.stdout).status]).toEqual([1, "incomplete"]);
  expect(server.asked.length).toBe(1);
  expect(readFileSync(`${d.state}/${foreign}`)).toEqual(foreignBytes);
  expect(readFileSync(`${d.state}/${"0".repeat(64)}.json`, "utf8")).toBe("{broken");
}, 120_000);

test("a refused report is told apart, kept, and not sent in a loop", async () => {
  let open = false;
  await using server = recordingServer((asked) =>
    open
      ? acknowledge(asked)
      : Response.json({ success: false, error: "SECRET", output: { error_kind: "session_closed" } }, { status: 400 }),
  );
  await using d = await desk(server.url);

  const first = await runProctor(observe(d.configPath), { input: d.payload() });
  const second = await runProctor(observe(d.configPath), { input: d.payload({ tool_use_id: "two" }) });
  const asked = server.asked.length;
  open = true;
  const flush = await runProctor(observe(d.configPath, "--flush"));

  expect(first.code).toBe(1);
  expect(JSON.parse(first.stderr)).toMatchObject({ reason: "recording_refused", error_kind: "session_closed" });
  expect(first.stderr).not.toContain("SECRET");
  expect(second.code).toBe(1);
  expect(asked).toBe(2);
  expect(JSON.parse(flush.stdout)).toEqual({ status: "recorded", acknowledged: 2 });
  expect(readdirSync(d.state).filter((name) => name.endsWith(".refused"))).toEqual([]);
}, 120_000);

test("a server without the tool leaves the report pending (O179)", async () => {
  let body: object = { success: false, output: { error_kind: "unknown_tool" } };
  await using server = recordingServer(() => Response.json(body, { status: 400 }));
  await using d = await desk(server.url);

  await runProctor(observe(d.configPath), { input: d.payload() });
  body = { status: 400, error: "unknown tool" };
  const run = await runProctor(observe(d.configPath), { input: d.payload() });

  expect(JSON.parse(run.stderr)).toMatchObject({ status: "incomplete", reason: "server_unsupported", saved: true });
  expect(records(d.state).length).toBe(1);
  expect(readdirSync(d.state).some((name) => name.endsWith(".refused"))).toBe(false);
});

test("a changed tool under the same call is a conflict and the first stays (O107)", async () => {
  await using d = await desk();
  await runProctor(observe(d.configPath), { input: d.payload() });
  const [name] = records(d.state);
  const before = readFileSync(`${d.state}/${name}`);

  const run = await runProctor(observe(d.configPath), { input: d.payload({ tool_name: "Other" }) });

  expect([run.code, JSON.parse(run.stderr).reason]).toEqual([1, "pending_event_conflict"]);
  expect(readFileSync(`${d.state}/${name}`)).toEqual(before);
});

test("a full outbox refuses visibly at 256 and takes the last place before (O108)", async () => {
  await using d = await desk();
  for (let i = 0; i < 255; i++) writePrivate(`${d.state}/${String(i).padStart(64, "0")}.json`, "{}");

  const last = await runProctor(observe(d.configPath), { input: d.payload() });
  const over = await runProctor(observe(d.configPath), { input: d.payload({ tool_use_id: "over" }) });

  expect(JSON.parse(last.stderr).saved).toBe(true);
  expect([over.code, JSON.parse(over.stderr)]).toEqual([
    1,
    { status: "incomplete", reason: "pending_capacity_event_not_saved" },
  ]);
  expect(records(d.state).length).toBe(256);
}, 120_000);

test("a held lock leaves the event saved; a flush then says that it is busy (O109)", async () => {
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk(server.url);
  const lock = tryLock(`${d.state}/.lock`)!;

  const run = await runProctor(observe(d.configPath), { input: d.payload() });
  const flush = await runProctor(observe(d.configPath, "--flush"));
  lock.release();

  expect([run.code, JSON.parse(run.stderr)]).toEqual([0, { status: "saved" }]);
  expect([flush.code, JSON.parse(flush.stdout).reason]).toEqual([1, "adapter_busy_event_not_saved"]);
  expect(records(d.state).length).toBe(1);
});

test("background delivery returns after the save and one detached flush delivers (O103)", async () => {
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk(server.url);

  const run = await runProctor(observe(d.configPath, "--deliver", "background"), { input: d.payload() });

  expect([run.code, run.stdout, JSON.parse(run.stderr)]).toEqual([0, "", { status: "saved" }]);
  expect(await holdsWithin(() => records(d.state).length === 0, { withinMs: 30_000 })).toBe(true);
  expect(server.asked.length).toBe(1);
  const done = () => readFileSync(`${d.state}/hook-ledger.ndjson`, "utf8").includes('"flush"');
  expect(await holdsWithin(done, { withinMs: 30_000 })).toBe(true);
}, 120_000);

test("16 hooks at one moment save 16 reports and at most one flush delivers the rest", async () => {
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk(server.url);

  const runs = await Promise.all(
    Array.from({ length: 16 }, (_, i) =>
      runProctor(observe(d.configPath), { input: d.payload({ tool_use_id: `call-${i}` }) }),
    ),
  );
  await runProctor(observe(d.configPath, "--flush"));

  // A sender that was starved past its deadline says so and keeps its report; saved it is in every case.
  for (const run of runs) {
    const result = JSON.parse(run.stderr);
    expect(result.status === "recorded" || result.status === "saved" || result.saved).toBe(true);
  }
  await drained(d.configPath, d.state);
  expect(new Set(server.asked.map((one) => one.body.params["event_id"])).size).toBe(16);
}, 120_000);

async function drained(config: string, state: string): Promise<void> {
  const flushOnce = async () => {
    if (records(state).length > 0) await runProctor(observe(config, "--flush"));
    return records(state).length === 0;
  };
  expect(await holdsWithin(flushOnce, { withinMs: 60_000 })).toBe(true);
}

test("a hook killed at any moment has saved its report, or the next run saves it (O101)", async () => {
  const rows = new Set<unknown>();
  await using server = recordingServer((asked) => {
    rows.add(asked.body.params["event_id"]);
    return acknowledge(asked);
  });
  await using d = await desk(server.url);

  for (let i = 0; i < 24; i++) {
    const self = selfCommand(observe(d.configPath));
    const input = d.payload({ tool_use_id: `call-${i}` });
    const child = Bun.spawn([self.command, ...self.args], {
      env: {},
      stdin: new Blob([input]),
      stdout: "ignore",
      stderr: "ignore",
    });
    // Moments spread over the life of the hook; which of them hit what does not matter to the outcome.
    await Promise.race([child.exited, Bun.sleep(i * 4)]);
    child.kill("SIGKILL");
    await child.exited;
    await runProctor(observe(d.configPath), { input });
  }
  await drained(d.configPath, d.state);

  expect(rows.size).toBe(24);
}, 300_000);

test("a half-written record of a killed saver is completed by the next save", async () => {
  await using d = await desk();
  await runProctor(observe(d.configPath), { input: d.payload() });
  const [name] = records(d.state);
  const whole = readFileSync(`${d.state}/${name}`, "utf8");

  for (const kept of [0, 1, 100, whole.length - 1]) {
    writeFileSync(`${d.state}/${name}`, whole.slice(0, kept));
    const run = await runProctor(observe(d.configPath), { input: d.payload() });
    expect(JSON.parse(run.stderr).saved).toBe(true);
    expect(readFileSync(`${d.state}/${name}`, "utf8")).toBe(whole);
    expect(statSync(`${d.state}/${name}`).mode & 0o777).toBe(0o600);
  }
}, 120_000);

test("wrong words end with 64 and help with 0; a missing state folder is refused, not made (O083)", async () => {
  await using d = await desk();
  d.configure({ state_dir: `${d.path}/none` });

  const missing = await runProctor(observe(d.configPath), { input: d.payload() });
  const wrong = await runProctor(["hook", "observe", "--confg", "x"], { input: d.payload() });
  const twice = await runProctor(observe(d.configPath, "--config", d.configPath), { input: d.payload() });
  const help = await runProctor(["hook", "observe", "--help"]);

  expect(missing.code).toBe(1);
  expect(existsSync(`${d.path}/none`)).toBe(false);
  expect([wrong.code, wrong.stdout, twice.code]).toEqual([64, "", 64]);
  expect([help.code, help.stdout.includes("Example")]).toEqual([0, true]);
});

test("the proxies of the environment see nothing (O091)", async () => {
  await using proxy = recordingServer((asked) => acknowledge(asked));
  await using server = recordingServer((asked) => acknowledge(asked));
  await using d = await desk(server.url);
  const env = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, ALL_PROXY: proxy.url, HTTPS_PROXY: proxy.url };

  const run = await runProctor(observe(d.configPath), { input: d.payload(), env });

  expect([run.code, server.asked.length, proxy.asked.length]).toEqual([0, 1, 0]);
});
