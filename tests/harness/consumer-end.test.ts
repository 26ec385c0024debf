// How the consumer's process ends and what is left of it: its group, its pipe, its raw stream.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type ProcessId, readProcess, signalExactly } from "../../src/base/census.ts";
import type { ProcessGroup } from "../../src/base/process-group.ts";
import { consumerStage, stopConsumer } from "../../src/harness/consumer.ts";
import { createFixture, type Fixture } from "../../src/harness/fixture.ts";
import { failureOf } from "../../src/harness/harness.ts";
import { harnessLimits } from "../../src/harness/limits.ts";
import { provision } from "../../src/harness/provision.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { type StageOptions, stageRun, standinProject } from "./stage-run.ts";

const waitMs = 120_000;
const failureIn = (promise: Promise<unknown>) => promise.then(() => "none", failureOf);

/** A run with its services up and a shell script as consumer. */
async function scripted(folder: string, script: string, doors: StageOptions["doors"] = {}) {
  const consumer = { command: "/bin/sh", args: ["-c", script] };
  const stage = stageRun(folder, {
    doors: { limits: { stopTermMs: 300, stopKillMs: 20_000 }, ...doors },
    plan: (all) => ({ server: all.server(), runner: all.runner(), consumer }),
  });
  const fixture = await createFixture(stage.run, null);
  await provision(stage.run);
  return { stage, run: stage.run, fixture };
}

function processNamedIn(path: string): ProcessId {
  const row = readProcess(Number(readFileSync(path, "utf8")));
  if (row === null) throw new Error("the process is not there");
  return row;
}

/** A child that says its pid into this file of the run's temporary folder and then stays. */
const staying = (name: string) =>
  `sh -c 'trap "" TERM; echo $$ >"$TMPDIR/${name}.part"; mv "$TMPDIR/${name}.part" "$TMPDIR/${name}"; while :; do sleep 60; done'`;
const until = (name: string) => `while [ ! -e "$TMPDIR/${name}" ]; do sleep 0.05; done`;

test(
  "the consumer's end is its leader's: what it left in its group is ended, an escaped holder of the pipe not waited for (H114 H143 H147 B55 B56)",
  async () => {
    await using dir = await tempFolder();
    const script = `${staying("inside")} & setsid ${staying("escaped")} & ${until("inside")}; ${until("escaped")}; exit 3`;
    const { stage, run, fixture } = await scripted(dir.path, script);
    await using _ = stage;

    const failure = await failureIn(consumerStage(run, fixture));
    const inside = processNamedOrNull(join(run.space.temp, "inside"));
    const escaped = processNamedIn(join(run.space.temp, "escaped"));

    expect([failure, run.book.consumer["exit_code"]]).toEqual(["consumer_process_failed", 3]);
    expect(run.book.cleanup["consumer_group_stopped"]).toBe(true);
    expect(inside).toBeNull();
    // It holds our stderr pipe to this moment, so nobody waited for the pipe's end.
    expect(isAlive(escaped)).toBe(true);
    expect(harnessLimits.drainGraceMs).toBe(2_000);
    expect(signalExactly(escaped, "SIGKILL")).toBe("signalled");
  },
  waitMs,
);

function processNamedOrNull(path: string): ProcessId | null {
  const row = readProcess(Number(readFileSync(path, "utf8")));
  return row === null || row.state === "Z" ? null : row;
}

test(
  "a wrapper that exits 0 because we ended it has not succeeded, and its program is gone with it (B55)",
  async () => {
    await using dir = await tempFolder();
    const script = `trap 'exit 0' TERM; ${staying("inside")} & ${until("inside")}; wait`;
    const limits = { consumerDeadlineMs: 3_000, stopTermMs: 300, stopKillMs: 20_000 };
    const { stage, run, fixture } = await scripted(dir.path, script, { limits });
    await using _ = stage;

    expect(await failureIn(consumerStage(run, fixture))).toBe("consumer_deadline");

    expect((await run.consumer?.exited)?.code).toBe(0);
    expect(run.facts.consumer).toMatchObject({ ended: "deadline", exit_code: null });
    expect(run.book.consumer["passed"]).toBe(false);
    expect(run.book.cleanup["consumer_group_stopped"]).toBe(true);
    expect(processNamedOrNull(join(run.space.temp, "inside"))).toBeNull();
  },
  waitMs,
);

test(
  "the raw stream is reduced and gone, also when it cannot be read any more (H144 O031)",
  async () => {
    await using outside = await tempFolder();
    const elsewhere = join(outside.path, "elsewhere");
    writeFileSync(elsewhere, "kept");
    const replacedBy = (command: string) => `rm "$TMPDIR/../consumer.jsonl"; ${command}`;
    for (const [script, expected] of [
      ['echo \'{"error": "401 Unauthorized, token-4711"}\'', { categories: { http_401: 1, unauthorized: 1 } }],
      ['chmod 644 "$TMPDIR/../consumer.jsonl"', { observation: "unavailable" }],
      [replacedBy("true"), { observation: "unavailable" }],
      [replacedBy(`ln -s '${elsewhere}' "$TMPDIR/../consumer.jsonl"`), { observation: "unavailable" }],
      [replacedBy(`ln -s '${elsewhere}.none' "$TMPDIR/../consumer.jsonl"`), { observation: "unavailable" }],
    ] as const) {
      await using dir = await tempFolder();
      const { stage, run, fixture } = await scripted(dir.path, script);
      await using _ = stage;

      expect(await failureIn(consumerStage(run, fixture))).not.toBe("none");

      expect(run.book.consumer["stdout_diagnostics"]).toMatchObject(expected);
      expect(readdirSync(run.space.private).filter((name) => name.startsWith("consumer"))).toEqual([]);
      expect(readFileSync(elsewhere, "utf8")).toBe("kept");
      expect(JSON.stringify(run.book.report)).not.toContain("token-4711");
    }
  },
  waitMs,
);

/** One completed read of this file as the stream shows it. */
function readFrame(fixture: Fixture, path: string, id: string): string {
  const output = { path, text: fixture.files[path], format: "plain", start_line: 1, has_more: false, read_revision: 7 };
  const structured_content = { success: true, output: { failed_count: 0, items: [{ success: true, path, output }] } };
  const call = { type: "mcp_tool_call", server: "bidirectional", tool: "read_files", status: "completed", error: null };
  const item = { id, ...call, arguments: { project: standinProject, files: [path] }, result: { structured_content } };
  return JSON.stringify({ type: "item.completed", item });
}

test(
  "tool_calls grows call by call, each on disk with its phase (H135)",
  async () => {
    await using dir = await tempFolder();
    const seen: unknown[] = [];
    const onPhase = (phase: string) => {
      if (phase !== "consumer_tool_receipt_verified") return;
      const { phase: written, consumer } = JSON.parse(readFileSync(join(dir.path, "out/report.json"), "utf8"));
      seen.push([written, consumer.tool_calls.map((call: { native_event_id: string }) => call.native_event_id)]);
    };
    const { stage, run, fixture } = await scripted(dir.path, 'cat "$TMPDIR/../../frames"', { onPhase });
    await using _ = stage;
    const paths = Object.keys(fixture.files);
    const frames = paths.map((path, index) => readFrame(fixture, path, `item_${index}`));
    await Bun.write(join(run.space.root, "frames"), `${frames.join("\n")}\n`);

    await failureIn(consumerStage(run, fixture));

    expect(seen).toEqual([
      ["consumer_tool_receipt_verified", ["item_0"]],
      ["consumer_tool_receipt_verified", ["item_0", "item_1"]],
    ]);
  },
  waitMs,
);

/** A group that answers like this when it is stopped. */
function groupOf(pid: number, ended: "gone" | "still_visible", stopped: unknown[] = []): ProcessGroup {
  return {
    id: { pid, startTicks: 1 },
    pid,
    exited: new Promise(() => undefined),
    running: () => ended !== "gone",
    signalLeader: () => undefined,
    stop: async (how) => {
      stopped.push(how);
      return ended;
    },
  };
}

test("stopConsumer() says false for a group that is still visible, and true without a consumer (H146 H148)", async () => {
  await using dir = await tempFolder();
  await using stage = stageRun(dir.path);
  const { run } = stage;
  const stopped: unknown[] = [];

  await stopConsumer(run);
  expect(run.book.cleanup["consumer_group_stopped"]).toBe(true);
  run.consumer = groupOf(4_000_000, "still_visible", stopped);
  await stopConsumer(run);
  expect(run.book.cleanup["consumer_group_stopped"]).toBe(false);
  expect(stopped).toEqual([{ termMs: 10_000, killMs: 2_000 }]);
  run.consumer = null;
});

test("stopConsumer() refuses a group that is our own and signals nothing (H145)", async () => {
  await using dir = await tempFolder();
  await using stage = stageRun(dir.path);
  const { run } = stage;
  const stopped: unknown[] = [];
  run.consumer = groupOf(readProcess(process.pid)?.pgid ?? 0, "gone", stopped);

  expect(await failureIn(stopConsumer(run))).toBe("consumer_group_must_be_independent");
  expect(stopped).toEqual([]);
  run.consumer = null;
});
