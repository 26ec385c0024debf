// Every fault point as a process of its own, as often as asked for: each run has to reach its point and to come to an
// outcome that the table allows. A run that cannot be read counts as broken.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../base/failure.ts";
import { writePrivateJson } from "../base/private-files.ts";
import { runProgram } from "../base/run-program.ts";
import { allFaults, type Fault } from "../judge/fault-points.ts";
import type { CalibrateCode } from "./codes.ts";
import { calibrateLimits } from "./limits.ts";
import { type CalibrationOptions, readReport } from "./run.ts";
import { sideBySide } from "./side-by-side.ts";

export interface FaultRun {
  readonly fault: string;
  readonly time: number;
  readonly outcome: string;
  /** The code of the rule that decided, for the reader; the table does not name one. */
  readonly breaches: readonly string[];
  readonly legal: boolean;
  readonly ms: number;
}

export interface FaultRuns {
  readonly runs: number;
  readonly broken: number;
  readonly results: readonly FaultRun[];
}

export interface FaultRunOptions
  extends Pick<CalibrationOptions, "self" | "environment" | "executableSha256" | "folder" | "onStarted"> {
  readonly times: number;
  /** One fault as the command line writes it; absent: all. */
  readonly only?: string | undefined;
  readonly onResult?: (run: FaultRun) => void;
}

/** Runs the faults, two at a time. */
export async function runFaults(options: FaultRunOptions): Promise<FaultRuns> {
  const { times, only } = options;
  if (!Number.isInteger(times) || times < 1 || times > calibrateLimits.faultTimes)
    throw new Failure<CalibrateCode>("calibrate_fault_times_invalid");
  const chosen = allFaults.filter((fault) => only === undefined || words(fault) === only);
  if (chosen.length === 0) throw new Failure<CalibrateCode>("calibrate_subject_unknown");
  const jobs = Array.from({ length: times }, (_, at) => chosen.map((fault) => ({ fault, time: at + 1 }))).flat();
  const results = await sideBySide(jobs, async ({ fault, time }) => {
    const run = await runOne(fault, time, options);
    options.onResult?.(run);
    return run;
  });
  return { runs: results.length, broken: results.filter((run) => !run.legal).length, results };
}

/** One line of a fault run. */
export function faultLine({ legal, fault, outcome, breaches }: FaultRun): string {
  return `${legal ? "legal " : "BROKEN"} ${fault}: ${outcome}${breaches.length === 0 ? "" : ` (${breaches.join(", ")})`}`;
}

function words({ point, signal, target }: Fault): string {
  return `${point}:${signal}:${target}`;
}

async function runOne(fault: Fault, time: number, options: FaultRunOptions): Promise<FaultRun> {
  const started = performance.now();
  const name = words(fault);
  const folder = join(options.folder, `${name.replaceAll(":", "-")}-${time}`);
  mkdirSync(folder, { mode: 0o700 });
  const [file, output] = [join(folder, "subject.json"), join(folder, "run")];
  writePrivateJson(file, {
    id: "fault",
    misbehave: {},
    ...(options.executableSha256 === undefined ? {} : { executableSha256: options.executableSha256 }),
    limits: {
      readinessMs: 40_000,
      httpTimeoutMs: 40_000,
      observationDeadlineMs: 60_000,
      stopTermMs: 5_000,
      cancelWaitMs: 3_000,
    },
  });
  await runProgram({
    ...options.self(["accept", "--fault", name, "--subject", file, "--output-dir", output, "--json"]),
    cwd: folder,
    env: options.environment,
    timeoutMs: calibrateLimits.subjectMs,
    maxOutputBytes: calibrateLimits.outputBytes,
    ...(options.onStarted === undefined ? {} : { note: options.onStarted }),
  });
  const report = readReport(join(output, "report.json"));
  const seen = report?.phase === "closed" ? report.fault : undefined;
  const outcome = report?.verdict?.outcome ?? "unjudged";
  const breaches = seen?.breaches ?? ["no_report"];
  const legal = seen !== undefined && breaches.length === 0;
  if (legal) rmSync(folder, { recursive: true, force: true });
  return { fault: name, time, outcome, breaches, legal, ms: Math.round(performance.now() - started) };
}
