// One acceptance run, stage by stage. A stage's failure is recorded under its own code and the next one still runs
// where it can; clean-up always runs; the verdict is the judge's, from facts alone.

import { tmpdir } from "node:os";
import type { ProcessId } from "../base/census.ts";
import { Failure } from "../base/failure.ts";
import { Secret } from "../base/secret.ts";
import type { ReportPhase } from "../contract/report.ts";
import { faultBreaches } from "../judge/fault-points.ts";
import { judgeReport, runPassed } from "../judge/verdict.ts";
import { newCanary, scanCanaries } from "./canaries.ts";
import { CensusRecord } from "./census-record.ts";
import { closeRun } from "./cleanup.ts";
import type { HarnessCode } from "./codes.ts";
import { consumerStage } from "./consumer.ts";
import { FaultDriver } from "./fault.ts";
import { createFixture, findPython } from "./fixture.ts";
import { harnessLimits, type RunLimits, runLimits } from "./limits.ts";
import { endProcesses, LiveFile, ownId } from "./live-file.ts";
import { managedStage } from "./managed.ts";
import { manifestOf } from "./manifest.ts";
import { startModel } from "./model-seat.ts";
import { failureIn, failureOf } from "./out-of-room.ts";
import { provision } from "./provision.ts";
import { type Fields, ReportBook } from "./report-book.ts";
import type { AcceptOptions, Run, RunStage, Services } from "./run.ts";
import { describeSeats, executableDigest, planSeats, resolveSeatPaths } from "./seats.ts";
import { childEnvironment, createOutputFolder, createWorkspace } from "./workspace.ts";

export { failureOf } from "./out-of-room.ts";

export interface RunDoors {
  /** Shorter waits, for calibration. */
  readonly limits?: { readonly [K in keyof RunLimits]?: number | undefined };
  /** The deadman, when there is one: it owns the run too. */
  readonly front?: ProcessId | undefined;
  readonly subreaper?: boolean;
  readonly onPhase?: (phase: ReportPhase) => void;
  readonly onStage?: (stage: RunStage) => void;
  readonly onFolder?: (path: string) => void;
  /** The interpreter of the fixture, once it is known. */
  readonly python?: string | null;
  /** Aborts with the code the run has to end with. */
  readonly stop?: AbortSignal;
  /** How the report gets on disk. */
  readonly write?: (path: string, value: unknown) => void;
}

/** Refusals of the command line that need no folder, in the seed's order. */
export function checkOptions(options: AcceptOptions, platform: string = process.platform): AcceptOptions {
  if (platform === "win32") throw new Failure<HarnessCode>("posix_test_harness_required");
  const { timeoutS } = options;
  if (!Number.isInteger(timeoutS) || timeoutS < harnessLimits.minTimeoutS || timeoutS > harnessLimits.maxTimeoutS)
    throw new Failure<HarnessCode>("invalid_timeout");
  const resolved = resolveSeatPaths(options);
  if (options.account && (resolved.codexPath === undefined || resolved.adapterScript === undefined))
    throw new Failure<HarnessCode>("account_seats_required");
  return resolved;
}

/** Runs the whole scenario; the finished report is on disk and returned. Refusals before a report exists are thrown. */
export async function runAcceptance(given: AcceptOptions, doors: RunDoors = {}): Promise<Fields> {
  if (process.platform === "win32") throw new Failure<HarnessCode>("posix_test_harness_required");
  const hostPath = given.environment["PATH"] ?? "";
  const python =
    given.fixture === "typescript" ? null : await Promise.race([findPython(hostPath, "/"), stopPromise(doors.stop)]);
  if (given.fixture === "python" && python === null) throw new Failure<HarnessCode>("python_310_required");
  const options = checkOptions(given);
  const umask = process.umask(0o077);
  try {
    const root = createOutputFolder(options.outputDir);
    doors.onFolder?.(root);
    doors.onStage?.("preflight");
    const run = openRun({ ...options, outputDir: root }, { ...doors, python });
    try {
      await stages(run, python);
    } catch (error) {
      run.book.report["state"] = "failed";
      run.book.report["failure"] = failureIn(root, error);
      run.book.tryCheckpoint("failed");
    }
    await finish(run);
    return run.book.report;
  } finally {
    process.umask(umask);
  }
}

/** Everything a run has before its first stage: folders, report, live file, seats and secrets. */
export function openRun(options: AcceptOptions, doors: RunDoors): Run & { readonly live: LiveFile } {
  const space = createWorkspace(options.outputDir);
  const book = new ReportBook({
    folder: space.root,
    hostJobId: options.hostJobId,
    sourceHead: options.program.commit,
    scriptSha256: options.program.sha256 ?? executableDigest(),
    ...(doors.onPhase === undefined ? {} : { onPhase: doors.onPhase }),
    ...(doors.write === undefined ? {} : { write: doors.write }),
  });
  const owners = doors.front === undefined ? [ownId()] : [ownId(), doors.front];
  const live = openLive(book, options.stateFolder, { runId: Bun.randomUUIDv7(), outputDir: space.root, owners });
  const bootstrap = Secret.random(32);
  // Words of a real adapter's command line are the operator's own; the stand-in takes one more.
  const marks = options.adapterScript === undefined ? [newCanary("adapter-argument", "argument")] : [];
  const services: Services = { url: "", port: 0, project: "", server: null, runner: null, model: null, logs: [] };
  return {
    live,
    options,
    limits: runLimits(options.timeoutS, doors.limits),
    book,
    space,
    env: childEnvironment(options.environment, space, options.account),
    plan: planSeats(options, doors.python ?? null, marks[0]?.text),
    census: new CensusRecord({ live, wholeTree: doors.subreaper === true, litterFolders: [tmpdir(), "/tmp"] }),
    canaries: marks,
    services,
    fault: options.fault == null ? null : new FaultDriver(options.fault, services),
    facts: { consumer: null, recovery: null, managed: null, audit: null },
    bootstrap: textSecret(bootstrap),
    stopped: stopPromise(doors.stop),
    fixture: null,
    operator: null,
    consumerToken: "",
    consumer: null,
    printed: [],
    closing: false,
    entered: doors.onStage ?? (() => undefined),
  };
}

/** Without a live file nothing may be started; the report, which is there already, has to say so. */
function openLive(book: ReportBook, stateFolder: string, options: ConstructorParameters<typeof LiveFile>[1]): LiveFile {
  try {
    return new LiveFile(stateFolder, options);
  } catch (error) {
    Object.assign(book.report, { state: "failed", failure: failureOf(error) });
    if (!book.tryCheckpoint("failed")) book.markFailed(failureOf(error));
    throw error;
  }
}

async function stages(run: Run, python: string | null): Promise<void> {
  const { book } = run;
  const { seats, ...parts } = await Promise.race([
    describeSeats(run.options, run.env, (line) => book.notes.push(line)),
    run.stopped,
  ]);
  Object.assign(book.report, parts, { seats });
  if (seats.control_plane.kind !== "real" && (seats.consumer.kind === "real" || seats.adapter.kind === "real"))
    book.notes.push("real programs ran against the embedded control plane");
  run.entered("fixtures");
  const fixture = await Promise.race([createFixture(run, python), run.stopped]);
  run.fixture = fixture;
  run.entered("provision");
  await Promise.race([startModel(run, fixture.language), run.stopped]);
  await Promise.race([provision(run), run.stopped]);
  for (const [name, stage] of [
    ["consumer", consumerStage],
    ["managed", managedStage],
  ] as const) {
    if (run.options.only !== undefined && run.options.only !== name) {
      book.notes.push(`the ${name} stage was left out of this calibration run`);
      continue;
    }
    run.entered(name);
    try {
      await Promise.race([stage(run, fixture), run.stopped]);
    } catch (error) {
      const code = failureIn(run.space.root, error);
      if (endsTheRun.includes(code)) throw error;
      book[name]["failure"] = code;
      book.checkpoint(`${name}_failed`);
      if (run.options.failFast === true) return;
    }
  }
}

/** After these no further stage is begun. */
const endsTheRun = ["harness_interrupted", "harness_front_gone", "harness_evidence_unwritable"];

/** Clean-up and verdict; whatever goes wrong in them, nothing of the run is left and the live file says so. */
async function finish(run: Run & { readonly live: LiveFile }): Promise<void> {
  try {
    await conclude(run);
  } finally {
    await endProcesses(() => run.census.living());
    if (run.census.living().length === 0) run.live.remove();
  }
}

async function conclude(run: Run): Promise<void> {
  const { book } = run;
  run.closing = true;
  run.entered("closing");
  run.stopped.catch((error) => {
    // The front may go while we clean up; then, too, nobody is left to end us should we hang.
    if (failureOf(error) === "harness_front_gone") void endProcesses(() => run.census.living());
  });
  try {
    // With the front gone nobody waits for an answer.
    await closeRun(run, { hurry: book.report["failure"] === "harness_front_gone" });
  } catch (error) {
    book.cleanup["failure"] = failureOf(error);
    await endProcesses(() => run.census.living());
  }
  run.bootstrap.wipe();
  const { report } = book;
  report["facts"] = run.facts;
  report["census"] = run.census.close();
  const { audit } = run.facts;
  if (audit !== null)
    report["audit"] = { path: "private/acp-metadata.jsonl", sha256: audit.sha256, count: audit.count };
  report["manifest"] = manifestOf(run.space.root);
  report["updated_at_unix"] = book.now();
  book.tryCheckpoint();
  report["canaries"] = { ...scanCanaries(run.space, run.canaries), printed: run.printed };
  const verdict = judgeReport(report as unknown as Parameters<typeof judgeReport>[0]);
  report["verdict"] = verdict;
  if (run.fault !== null) {
    const { fault, fired } = run.fault;
    const breaches = faultBreaches({ ...fault, fired }, { outcome: verdict.outcome, facts: run.facts });
    report["fault"] = { ...fault, fired, breaches };
  }
  const passed = (section: Fields) => section["passed"] === true;
  const all = { consumer: passed(book.consumer), managed: passed(book.managed), recovery: passed(book.recovery) };
  const accepted = runPassed(all, verdict) && report["failure"] === undefined;
  report["state"] = accepted ? "passed" : "failed";
  if (report["failure"] === undefined) book.tryCheckpoint(accepted ? "accepted" : "acceptance_incomplete");
  report["finished_at_unix"] = book.now();
  if (book.tryCheckpoint("closed")) return;
  book.markFailed("harness_evidence_unwritable");
  throw new Failure<HarnessCode>("harness_evidence_unwritable");
}

/** The token is used as text, 43 URL-safe characters of 32 random bytes. */
function textSecret(secret: Secret): Secret {
  const text = secret.expose((bytes) => Buffer.from(bytes).toString("base64url"));
  secret.wipe();
  return Secret.from(text);
}

function stopPromise(signal: AbortSignal | undefined): Promise<never> {
  const stopped = new Promise<never>((_, reject) => {
    const stop = () =>
      reject(new Failure<HarnessCode>(signal?.reason === "front" ? "harness_front_gone" : "harness_interrupted"));
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
  // Nobody may be waiting at that moment; the next race still sees the refusal.
  stopped.catch(() => undefined);
  return stopped;
}
