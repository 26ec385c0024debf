// The consumer stage against a consumer that writes down how it was started and says what it is told.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../src/base/bytes.ts";
import { consumerStage } from "../../src/harness/consumer.ts";
import { readStream } from "../../src/harness/consumer-process.ts";
import { createFixture, type Fixture } from "../../src/harness/fixture.ts";
import { failureOf } from "../../src/harness/harness.ts";
import { harnessLimits } from "../../src/harness/limits.ts";
import { provision } from "../../src/harness/provision.ts";
import { streamCode } from "../../src/judge/consumer.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { type Recorded, type StageOptions, stageRun, standinProject } from "./stage-run.ts";

const waitMs = 300_000;
const failureIn = (promise: Promise<unknown>) => promise.then(() => "none", failureOf);
const categories = [
  "unknown_config_field",
  "http_401",
  "permission_denied",
  "unauthorized",
  "failed_to_refresh_token",
  "invalid_grant",
  "refresh_token_invalidated",
  "refresh_token_expired",
  "refresh_token_reused",
];
const zero = { bytes_seen: 0, categories: Object.fromEntries(categories.map((name) => [name, 0])) };

/** A run whose services stand, as the consumer stage finds it. */
async function servedStage(folder: string, options: StageOptions = {}) {
  const stage = stageRun(folder, options);
  const fixture = await createFixture(stage.run, null);
  await provision(stage.run);
  return { stage, run: stage.run, fixture };
}

const consumerOf = (rows: Recorded[]): Recorded => rows.find((row) => row["program"] === "consumer") ?? {};

test(
  "the consumer is started as the seed starts it, and its prompt comes after phase and pid are on disk (H105 H106 H107 H108 H109 H110)",
  async () => {
    await using dir = await tempFolder();
    const log = join(dir.path, "recorded.jsonl");
    const early: unknown[] = [];
    const onPhase = (phase: string) => {
      if (phase !== "consumer_running") return;
      // The consumer is up and waits for its input; the prompt must not have come before this phase was written.
      for (let tries = 0; !existsSync(`${log}.up`) && tries < 3_000; tries += 1) Bun.sleepSync(10);
      const { phase: written, consumer } = JSON.parse(readFileSync(join(dir.path, "out/report.json"), "utf8"));
      early.push({
        up: existsSync(`${log}.up`),
        prompted: existsSync(`${log}.first-byte`),
        written,
        pid: consumer.pid,
      });
    };
    const raw = join(dir.path, "out/private/consumer.jsonl");
    const { stage, run, fixture } = await servedStage(dir.path, {
      doors: { onPhase },
      plan: (all) => ({ server: all.server(), runner: all.runner(), consumer: all.consumer({ raw }) }),
    });
    await using _ = stage;

    await failureIn(consumerStage(run, fixture));

    const seen = consumerOf(stage.recorded());
    expect(early).toEqual([{ up: true, prompted: false, written: "consumer_running", pid: seen["pid"] }]);
    expect(seen["session"]).toBe(seen["pid"]);
    expect(seen["streamMode"]).toBe(0o600);
    expect(existsSync(raw)).toBe(false);
    const url = `${run.services.url}/mcp`;
    expect(seen["argv"]).toEqual([
      ...["--ignore-user-config", "--strict-config", "--sandbox", "read-only", "--ephemeral", "--json"],
      ...["--model", "gpt-5.6-luna", "--config", 'model_reasoning_effort="medium"'],
      "--config",
      `mcp_servers={bidirectional={url="${url}",bearer_token_env_var="WEBCODEX_BIDIRECTIONAL_READ_TOKEN",enabled_tools=["read_files"],http_headers={"X-WebCodex-MCP-Profile"="direct"}}}`,
      ...["--cd", fixture.folder, "-"],
    ]);
    const { WEBCODEX_BIDIRECTIONAL_READ_TOKEN: token, PROCTOR_ACCEPT_MARK: mark, ...rest } = seen["env"];
    expect(token).toBe(run.consumerToken);
    expect(mark).toBeString();
    expect(rest).toEqual(run.env);
    const others = stage.recorded().filter((row) => row["program"] === "server" || row["program"] === "runner");
    expect(others).toHaveLength(2);
    expect(JSON.stringify(seen["argv"])).not.toContain(run.consumerToken);
    for (const { env, argv } of others) expect(JSON.stringify([env, argv])).not.toContain(run.consumerToken);

    const prompt: string = seen["prompt"];
    expect(prompt).toContain(`exactly ${standinProject}.`);
    expect(prompt).toContain(`${Object.keys(fixture.files).join(" and ")} in one batch`);
    for (const forbidden of [
      "shell",
      "file system",
      "web",
      "other tool",
      "Goal",
      "Workflow Session",
      "AgentTask",
      "delegate nothing",
    ])
      expect(prompt).toContain(forbidden);
    for (const name of [
      "BENCH_TARGET_ALPHA",
      "BENCH_TARGET_BETA",
      "ALPHA_UNRELATED_SENTINEL",
      "BETA_UNRELATED_SENTINEL",
    ])
      expect(prompt).toContain(name);
    expect(prompt).toContain("one JSON object");
  },
  waitMs,
);

test(
  "the stand-in consumer asks with the profile header and the consumer's own token (H106)",
  async () => {
    await using dir = await tempFolder();
    const { stage, run, fixture } = await servedStage(dir.path);
    await using _ = stage;

    await failureIn(consumerStage(run, fixture));

    const asked = stage.recorded().filter((row) => row["headers"]?.authorization === `Bearer ${run.consumerToken}`);
    expect(asked.length).toBeGreaterThan(0);
    for (const { path, headers } of asked)
      expect([path, headers["x-webcodex-mcp-profile"]]).toEqual(["/mcp", "direct"]);
    expect(asked.map(({ body }) => body.params?.name).filter(Boolean)).toEqual(["read_files"]);
  },
  waitMs,
);

test(
  "a quiet consumer leaves every category at zero; a loud one leaves counts and no text (H052 H110 H111)",
  async () => {
    for (const [play, counts] of [
      [{}, zero],
      [
        {
          stderr: "canary-4711: HTTP 401\nPermission denied (canary-4711)\n",
          stdout: '{"type":"error","message":"canary-4711 401"}\n',
        },
        { bytes_seen: 54, categories: { ...zero.categories, http_401: 1, permission_denied: 1 } },
      ],
    ] as const) {
      await using dir = await tempFolder();
      const { stage, run, fixture } = await servedStage(dir.path, {
        plan: (all) => ({ server: all.server(), runner: all.runner(), consumer: all.consumer(play) }),
      });
      await using _ = stage;

      await failureIn(consumerStage(run, fixture));

      expect(run.book.consumer["diagnostics"]).toEqual(counts);
      expect(Object.keys(run.book.consumer["stdout_diagnostics"] as object)).toEqual(["bytes_seen", "categories"]);
      const canary = Bun.spawnSync(["grep", "-rl", "canary-4711", join(dir.path, "out")], {
        env: { PATH: "/usr/bin:/bin" },
      });
      expect(canary.stdout.toString()).toBe("");
    }
  },
  waitMs,
);

test(
  "both diagnostics stand at zero from the start of the stage (H111)",
  async () => {
    await using dir = await tempFolder();
    const first: unknown[] = [];
    const { stage, run, fixture } = await servedStage(dir.path, {
      doors: {
        onPhase: (phase) => {
          if (phase !== "consumer_running") return;
          const { diagnostics, stdout_diagnostics } = run.book.consumer;
          first.push(diagnostics, stdout_diagnostics);
        },
      },
      plan: (all) => ({ server: all.server(), runner: all.runner(), consumer: all.consumer() }),
    });
    await using _ = stage;

    await failureIn(consumerStage(run, fixture));

    expect(first).toEqual([zero, zero]);
  },
  waitMs,
);

/** An honest stream's pieces, as `codex exec --json` writes them. */
function pieces(fixture: Fixture) {
  const items = Object.entries(fixture.files).map(([path, text]) => ({
    success: true,
    path,
    output: { path, text, format: "plain", start_line: 1, has_more: false, read_revision: 1 },
  }));
  const structured_content = { success: true, output: { failed_count: 0, items } };
  const answer = Object.fromEntries(
    Object.values(fixture.files).flatMap((text) =>
      text
        .trim()
        .split("\n")
        .map((line) => line.split("=")),
    ),
  );
  const usage = (input_tokens: number) => ({ input_tokens, cached_input_tokens: 0, output_tokens: 1 });
  const call = { type: "mcp_tool_call", server: "bidirectional", tool: "read_files", status: "completed", error: null };
  const words = { project: standinProject, files: Object.keys(fixture.files) };
  const item = (id: string, of: object) => ({ type: "item.completed", item: { id, ...of } });
  return {
    thread: { type: "thread.started", thread_id: "t" },
    started: { type: "turn.started" },
    read: item("item_1", { ...call, arguments: words, result: { structured_content } }),
    partial: item("item_2", { type: "agent_message", text: '{"BENCH_TARGET_ALPHA":"be' }),
    answer: item("item_3", { type: "agent_message", text: JSON.stringify(answer) }),
    failed: { type: "turn.failed", error: { message: "Selected model is at capacity. canary-4711" } },
    completed: (tokens: number) => ({ type: "turn.completed", usage: usage(tokens) }),
  };
}

const linesOf = (frames: readonly object[]) => frames.map((frame) => `${JSON.stringify(frame)}\n`).join("");

// B04: a status of 0 says nothing about a turn that failed, was cut short, or never ended.
const turns: ReadonlyArray<readonly [string, string, (of: ReturnType<typeof pieces>) => string]> = [
  [
    "(a) partial message, then a failed turn",
    "consumer_turn_failed",
    (of) => linesOf([of.started, of.read, of.partial, of.failed]),
  ],
  [
    "(a) the whole answer, then a failed turn",
    "consumer_turn_failed",
    (of) => linesOf([of.started, of.read, of.answer, of.failed]),
  ],
  ["(b) the end right after the start", "consumer_turn_incomplete", (of) => linesOf([of.started])],
  [
    "(c) half an object as last line",
    "structured_log_cut",
    (of) => linesOf([of.started, of.read, of.answer]) + JSON.stringify(of.completed(1)).slice(0, 30),
  ],
  [
    "(d) a failed turn, then a completed one",
    "none",
    (of) => linesOf([of.started, of.partial, of.failed, of.started, of.read, of.answer, of.completed(9)]),
  ],
  [
    "(d) text of the failed turn is no answer",
    "consumer_final_message_missing",
    (of) => linesOf([of.started, of.read, of.answer, of.failed, of.started, of.completed(9)]),
  ],
  [
    "(e) a completed turn, then a failed one",
    "consumer_turn_failed",
    (of) => linesOf([of.started, of.read, of.answer, of.completed(5), of.started, of.partial, of.failed]),
  ],
];

for (const [name, code, stream] of turns)
  test(
    `exit 0 with ${name} ends as ${code} (B04)`,
    async () => {
      await using dir = await tempFolder();
      const play: Record<string, unknown> = {};
      const answers: Record<string, unknown> = {};
      const stage = stageRun(dir.path, {
        plan: (all) => ({ server: all.server(answers), runner: all.runner(), consumer: all.consumer(play) }),
      });
      await using _ = stage;
      const { run } = stage;
      const fixture = await createFixture(run, null);
      const of = pieces(fixture);
      // Our own read of the README is answered for too: without its receipt the server could not speak for any.
      const served = { ...fixture.files, "README.md": readFileSync(join(fixture.folder, "README.md"), "utf8") };
      const receipts = Object.entries(served).map(([path, text]) => ({
        ...{ token_id: "t", tool: "read_files", project: standinProject, path, served_at: 1 },
        text_sha256: sha256Hex(text),
      }));
      Object.assign(run.plan, {
        server: again(run.plan.server, { project: standinProject, receipts }),
        consumer: again(run.plan.consumer, { stdout: linesOf([of.thread]) + stream(of) }),
      });
      await provision(run);

      expect(await failureIn(consumerStage(run, fixture))).toBe(code);

      expect(run.facts.consumer).toMatchObject({ ended: "exited", exit_code: 0 });
      expect(run.book.consumer["passed"]).toBe(code === "none");
      expect(run.book.consumer["model_report"] !== undefined).toBe(code === "none");
      const written = JSON.stringify([run.book.report, run.facts]);
      expect(written).not.toContain("canary-4711");
      // Nothing of the usage is kept, so no running total can be added up.
      expect(written).not.toContain("input_tokens");
    },
    waitMs,
  );

/** The same recorder with other words to play. */
function again(program: { command: string; args: readonly string[] }, play: object) {
  const [file = "", log = "", , ...rest] = program.args;
  return { command: program.command, args: [file, log, JSON.stringify(play), ...rest] };
}

test("readStream() passes blank lines over, and a line that is JSON but no object is its own code (H049)", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "log.jsonl");
  const read = (text: string) => {
    writeFileSync(path, text, { mode: 0o600 });
    return readStream(path);
  };

  const blank = read('\n{"a":1}\n \t\r\n\n{"b":2}\n\n');
  expect(blank.frames).toEqual([{ a: 1 }, { b: 2 }]);
  expect(streamCode({ stream: { ...blank.stream, frames_not_kept: 0 } })).toBeNull();
  for (const line of ["[1]", "7", '"text"', "null", "true"]) {
    const { stream } = read(`{"a":1}\n${line}\n`);
    expect(streamCode({ stream: { ...stream, frames_not_kept: 0 } })).toBe("unexpected_jsonl_frame");
  }
  const { stream } = read("not json\n");
  expect(streamCode({ stream: { ...stream, frames_not_kept: 0 } })).toBe("structured_log_malformed");
});

test("readStream() takes 8 MiB and refuses one byte more unread (H048)", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "log.jsonl");
  const line = `${JSON.stringify({ pad: "x".repeat(1024 * 1024 - 11) })}\n`;
  expect(line.length).toBe(1024 * 1024);
  expect(harnessLimits.consumerStdoutBytes).toBe(8 * line.length);

  writeFileSync(path, line.repeat(8), { mode: 0o600 });
  expect(readStream(path).frames).toHaveLength(8);
  writeFileSync(path, `${line.repeat(8)}\n`);
  const { frames, stream } = readStream(path);

  expect(frames).toEqual([]);
  expect(streamCode({ stream: { ...stream, frames_not_kept: 0 } })).toBe("structured_log_limit");
});
