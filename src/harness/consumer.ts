// The consumer stage: a read-only turn over MCP, proven by its stream, the server's own rows and the bytes on disk.
import { join } from "node:path";
import { sha256FileHex } from "../base/bytes.ts";
import { descendantsOf, listProcesses, readProcess } from "../base/census.ts";
import { holdsWithin } from "../base/clock.ts";
import { DiagnosticCounter } from "../base/diagnostics.ts";
import { Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import { readPrivateFile, removeIfPresent } from "../base/private-files.ts";
import {
  acceptanceEffort,
  acceptanceModel,
  type ConsumerFacts,
  type LifecycleCounts,
  type ReceiptFact,
} from "../contract/report.ts";
import type { JudgeCode } from "../judge/codes.ts";
import { judgeConsumer } from "../judge/consumer.ts";
import { expectedAnswer, expectedFacts, reduceFrames } from "../judge/consumer-frames.ts";
import { stageCode } from "../judge/verdict.ts";
import { newCanary } from "./canaries.ts";
import type { HarnessCode } from "./codes.ts";
import { diagnosticsOf, readStream, runConsumer, streamPath } from "./consumer-process.ts";
import { askGit, type Fixture } from "./fixture.ts";
import { harnessLimits } from "./limits.ts";
import { modelFlags } from "./model-seat.ts";
import { notePrinted } from "./printed.ts";
import { consumerScopes } from "./provision.ts";
import type { Run } from "./run.ts";
import { operatorOf } from "./services.ts";

const tokenName = "WEBCODEX_BIDIRECTIONAL_READ_TOKEN";

/** Runs and judges the consumer; whatever happened, its group is stopped and its raw stream is gone afterwards. */
export async function consumerStage(run: Run, fixture: Fixture): Promise<void> {
  const zero = diagnosticsOf(new DiagnosticCounter());
  Object.assign(run.book.consumer, { diagnostics: zero, stdout_diagnostics: zero });
  try {
    await consumerTurn(run, fixture);
  } finally {
    await stopConsumer(run);
    reduceAndRemoveStream(run);
  }
}

/** Ends the consumer's own group; still visible is said, never hidden. */
export async function stopConsumer(run: Run): Promise<void> {
  const { stopTermMs, stopKillMs } = run.limits;
  // Never true for a group that was started here; signalling our own would end the whole harness.
  if (run.consumer !== null && run.consumer.pid === readProcess(process.pid)?.pgid)
    throw new Failure<HarnessCode>("consumer_group_must_be_independent");
  const ended = run.consumer === null ? "gone" : await run.consumer.stop({ termMs: stopTermMs, killMs: stopKillMs });
  run.book.cleanup["consumer_group_stopped"] = ended === "gone";
}

async function consumerTurn(run: Run, fixture: Fixture): Promise<void> {
  const facts = emptyFacts(run, fixture);
  run.facts.consumer = facts;
  facts.lifecycle_before = await lifecycleCounts(run);
  if (Object.values(facts.lifecycle_before).some((count) => count > 0))
    throw new Failure<JudgeCode>("consumer_created_durable_lifecycle");
  Object.assign(facts, await runConsumer(run, consumerCommand(run, fixture)));
  if (facts.ended === "exited") facts.left_processes = await leftProcesses(run);
  const { frames, stream } = readStream(streamPath(run));
  const reduced = reduceFrames(frames, expectation(run, fixture));
  facts.frames = reduced.frames;
  facts.stream = { ...stream, frames_not_kept: reduced.notKept };
  const receipts = await servedReceipts(run, fixture);
  facts.receipts = receipts?.rows ?? null;
  facts.control_receipt = receipts?.control ?? null;
  facts.fixture_unchanged = (await askGit(fixture, run.env, ["status", "--porcelain"])).length === 0;
  facts.lifecycle_after = await lifecycleCounts(run);
  recordCalls(run, fixture, frames);
  const code = stageCode(judgeConsumer(facts));
  if (code !== undefined) throw new Failure(code);
  Object.assign(run.book.consumer, {
    passed: true,
    scopes: consumerScopes,
    model_report: expectedAnswer(fixture.files),
    native_file_comparison: true,
    fixture_unchanged: true,
    lifecycle_counts_after: facts.lifecycle_after,
  });
  run.book.checkpoint("consumer_accepted");
}

function emptyFacts(run: Run, fixture: Fixture): ConsumerFacts {
  return {
    ended: "not_started",
    exit_code: null,
    signal: null,
    stream: { over_limit: false, malformed_lines: 0, not_object_lines: 0, cut_last_line: false, frames_not_kept: 0 },
    frames: [],
    expected: expectedFacts(expectation(run, fixture)),
    receipts: null,
    fixture_unchanged: null,
    lifecycle_before: null,
    lifecycle_after: null,
  };
}

function expectation(run: Run, fixture: Fixture) {
  return { project: run.services.project, files: fixture.files };
}

function consumerCommand(run: Run, fixture: Fixture) {
  const { plan, services, env, canaries } = run;
  const text = (value: string) => JSON.stringify(value);
  const server = `{url=${text(`${services.url}/mcp`)},bearer_token_env_var="${tokenName}",enabled_tools=["read_files"],http_headers={"X-WebCodex-MCP-Profile"="direct"}}`;
  const mark = newCanary("consumer-prompt", "prompt");
  const hidden = newCanary("consumer-environment", "environment");
  canaries.push(mark, hidden);
  return {
    command: plan.consumer.command,
    args: [
      ...plan.consumer.args,
      ...["--ignore-user-config", "--strict-config", "--sandbox", "read-only", "--ephemeral", "--json"],
      ...["--model", acceptanceModel, "--config", `model_reasoning_effort=${text(acceptanceEffort)}`],
      ...modelFlags(run),
      ...["--config", `mcp_servers={bidirectional=${server}}`, "--cd", fixture.folder, "-"],
    ],
    env: { ...env, [tokenName]: run.consumerToken, PROCTOR_ACCEPT_MARK: hidden.text },
    prompt: consumerPrompt(services.project, Object.keys(fixture.files), mark.text),
  };
}

function consumerPrompt(project: string, paths: readonly string[], mark: string): string {
  return [
    "This is a read-only task. The one tool to use is read_files of the MCP server bidirectional.",
    `The registered project is exactly ${project}.`,
    `Read ${paths.join(" and ")} in one batch.`,
    "Use no shell, file system, web or other tool. Create or resume no Goal, Workflow Session, durable Agent or AgentTask, and delegate nothing.",
    "Answer with one JSON object that has exactly BENCH_TARGET_ALPHA, BENCH_TARGET_BETA, ALPHA_UNRELATED_SENTINEL and BETA_UNRELATED_SENTINEL with their actual string values.",
    `Do not repeat this ${mark}.`,
  ].join("\n");
}

/** What of sessions, goals, agents and tasks exists now. */
export async function lifecycleCounts(run: Run): Promise<LifecycleCounts> {
  const operator = operatorOf(run);
  const count = async (tool: string, key: string, args: Record<string, unknown> = {}) => {
    const list = (await operator.tool(tool, args))[key];
    if (!Array.isArray(list)) throw new Failure<JudgeCode>("lifecycle_inventory_shape");
    return list.length;
  };
  return {
    sessions: await count("list_sessions", "sessions", { project: run.services.project }),
    goals: await count("list_goals", "goals"),
    agents: await count("list_agent_identities", "agents"),
    tasks: await count("list_agent_tasks", "tasks"),
  };
}

/** The server's own rows, after a read of ours whose receipt shows whether it keeps any, and right ones. */
async function servedReceipts(
  run: Run,
  fixture: Fixture,
): Promise<{ rows: ReceiptFact[]; control: "kept" | "missing" | "wrong" } | null> {
  if (run.options.binDir !== undefined) return null; // a real server has no such tool
  const operator = operatorOf(run);
  await operator.tool("read_files", { project: run.services.project, items: [{ path: controlFile }] });
  const ask = (token: string) => operator.restTool("list_tool_receipts", {}, token);
  const rows = (await run.bootstrap.exposeText(ask))?.["receipts"];
  if (!Array.isArray(rows)) return null;
  const facts = rows.filter(isRecord).map((row) => ({
    tool: String(row["tool"]).slice(0, 200),
    project: String(row["project"]).slice(0, 200),
    path: String(row["path"]).slice(0, 400),
    text_sha256: String(row["text_sha256"]),
  }));
  const own = facts.filter((row) => row.path === controlFile);
  const digest = sha256FileHex(join(fixture.folder, controlFile));
  const kept = own.some((row) => row.text_sha256 === digest);
  return { rows: facts, control: kept ? "kept" : own.length > 0 ? "wrong" : "missing" };
}

/** A file that the consumer is not asked to read, so that our own receipt can never stand for one of its reads. */
const controlFile = "README.md";

/** What descends from us and from none of the services, once whatever ends by itself has had its time. */
async function leftProcesses(run: Run): Promise<number> {
  let left = strangers(run);
  const gone = () => {
    left = strangers(run);
    return left === 0;
  };
  if (left > 0) await holdsWithin(gone, { withinMs: harnessLimits.drainGraceMs, everyMs: 20 });
  return left;
}

/** Nothing of ours but the consumer and the services is running at that moment. */
function strangers(run: Run): number {
  const { server, runner, model } = run.services;
  const services = [server, runner, model?.group].flatMap((group) => (group == null ? [] : [group.pid]));
  const rows = listProcesses();
  const theirs = new Set([...services, ...descendantsOf(services, rows).map((row) => row.pid)]);
  return descendantsOf([process.pid], rows).filter((row) => row.state !== "Z" && !theirs.has(row.pid)).length;
}

/** The calls of the stream as the seed's report shows them; texts are the fixture's own, never the subject's. */
function recordCalls(run: Run, fixture: Fixture, frames: readonly unknown[]): void {
  const calls: Record<string, unknown>[] = [];
  for (const [index, fact] of (run.facts.consumer?.frames ?? []).entries()) {
    if (fact.event !== "item.completed" || fact.call === null || index > 64) continue;
    const files = fact.call.items
      .filter((item) => item.path !== null && item.path in fixture.files && item.text_sha256 !== null)
      .filter((item) => item.text_sha256 === run.facts.consumer?.expected.files[item.path ?? ""])
      .map(({ path }) => ({
        path,
        read_revision: revisionOf(frames, fact.id, path),
        text: fixture.files[path ?? ""],
        sha256: sha256FileHex(join(fixture.folder, path ?? "")),
      }));
    calls.push({
      native_event_id: fact.id,
      status: fact.call.status,
      tool: "read_files",
      project: run.services.project,
      files,
    });
    run.book.consumer["tool_calls"] = calls;
    run.book.checkpoint("consumer_tool_receipt_verified");
  }
}

function revisionOf(frames: readonly unknown[], id: string | null, path: string | null): number | null {
  const find = (value: unknown, depth: number): number | null => {
    if (depth > 8 || typeof value !== "object" || value === null) return null;
    if (isRecord(value) && value["path"] === path && typeof value["read_revision"] === "number")
      return value["read_revision"];
    for (const inner of Object.values(value)) {
      const found = find(inner, depth + 1);
      if (found !== null) return found;
    }
    return null;
  };
  const own = frames.find(
    (frame) =>
      isRecord(frame) && isRecord(frame["item"]) && frame["item"]["id"] === id && frame["type"] === "item.completed",
  );
  return find(own, 0);
}

function reduceAndRemoveStream(run: Run): void {
  const path = streamPath(run);
  try {
    const counter = new DiagnosticCounter();
    const bytes = readPrivateFile(path, { maxBytes: 64 * harnessLimits.consumerStdoutBytes });
    counter.push(bytes);
    notePrinted(run, "consumer_stdout", bytes);
    run.book.consumer["stdout_diagnostics"] = diagnosticsOf(counter);
  } catch {
    // Nothing to read is right as long as nothing was started; afterwards somebody took the stream away.
    if (run.consumer !== null) run.book.consumer["stdout_diagnostics"] = { observation: "unavailable" };
  } finally {
    removeIfPresent(path); // also a link to nothing
  }
}
