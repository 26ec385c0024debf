// Runs subjects as processes of this very executable and compares what each run said with what it has to say.
// A subject that cannot be judged (no report, a crash) is a miss, never a hit.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ProcessId } from "../base/census.ts";
import { Failure } from "../base/failure.ts";
import { parseJson } from "../base/json.ts";
import { readRegularFile, writePrivateJson } from "../base/private-files.ts";
import { runProgram } from "../base/run-program.ts";
import { Report } from "../contract/report.ts";
import { decidingRule } from "../judge/verdict.ts";
import { type CatalogueSubject, catalogue, subjectFile } from "./catalogue.ts";
import type { CalibrateCode } from "./codes.ts";
import { calibrateLimits } from "./limits.ts";
import { sideBySide } from "./side-by-side.ts";

export interface CalibrationOptions {
  /** The words that start this executable with further arguments. */
  readonly self: (args: readonly string[]) => { readonly command: string; readonly args: readonly string[] };
  readonly environment: Readonly<Record<string, string>>;
  /** Digest of this executable, when the caller has read it. */
  readonly executableSha256?: string | undefined;
  /** An existing private folder; every run gets a folder of its own in it. */
  readonly folder: string;
  readonly only?: string | undefined;
  readonly honestTimes?: number | undefined;
  /** Told of every process that is started. */
  readonly onStarted?: ((id: ProcessId) => void) | undefined;
  readonly onResult?: (result: SubjectResult) => void;
}

export interface SubjectResult {
  readonly id: string;
  readonly kind: "bad" | "honest";
  readonly time: number;
  readonly expected: {
    readonly outcome: "refused" | "passed";
    readonly code: string | null;
    readonly party: string | null;
  };
  readonly seen: {
    readonly outcome: "refused" | "passed" | "unjudged";
    readonly code: string | null;
    readonly party: string | null;
  };
  readonly hit: boolean;
  readonly ms: number;
}

export interface Calibration {
  readonly bad: number;
  readonly honest: number;
  readonly runs: number;
  readonly misses: number;
  readonly results: readonly SubjectResult[];
}

/** Runs the catalogue, or the one subject named, side by side where processors allow it. */
export async function calibrate(options: CalibrationOptions): Promise<Calibration> {
  const times = options.honestTimes ?? 1;
  if (!Number.isInteger(times) || times < 1 || times > calibrateLimits.honestTimes)
    throw new Failure<CalibrateCode>("calibrate_times_invalid");
  const chosen = catalogue.filter((subject) => options.only === undefined || subject.id === options.only);
  if (chosen.length === 0) throw new Failure<CalibrateCode>("calibrate_subject_unknown");
  const jobs = chosen.flatMap((subject) => timesOf(subject, times).map((time) => ({ subject, time })));
  const results = await sideBySide(slowFirst(jobs), async ({ subject, time }) => {
    const result = await runSubject(subject, time, options);
    options.onResult?.(result);
    return result;
  });
  const order = new Map(chosen.map((subject, index) => [subject.id, index]));
  results.sort((one, two) => order.get(one.id)! - order.get(two.id)! || one.time - two.time);
  return {
    bad: chosen.filter((subject) => subject.kind === "bad").length,
    honest: chosen.filter((subject) => subject.kind === "honest").length,
    runs: results.length,
    misses: results.filter((result) => !result.hit).length,
    results,
  };
}

/** Weighs what a finished run's report says against the catalogue. */
export function weigh(
  subject: CatalogueSubject,
  report: Report | null,
): Pick<SubjectResult, "expected" | "seen" | "hit"> {
  const expected =
    subject.kind === "bad"
      ? ({ outcome: "refused", code: subject.code, party: subject.party } as const)
      : ({ outcome: "passed", code: null, party: null } as const);
  if (report === null || report.verdict === undefined || report.phase !== "closed")
    return { expected, seen: { outcome: "unjudged", code: null, party: null }, hit: false };
  const decided = decidingRule(report.verdict.rules);
  const seen = {
    outcome: report.state === "passed" ? ("passed" as const) : ("refused" as const),
    code: decided?.code ?? null,
    party: decided?.party ?? null,
  };
  const hit = seen.outcome === expected.outcome && seen.code === expected.code && seen.party === expected.party;
  return { expected, seen, hit };
}

/** What waits for a deadline begins first, so that nobody waits for it alone at the end. */
function slowFirst<Job extends { readonly subject: CatalogueSubject }>(jobs: readonly Job[]): Job[] {
  const waits = ({ subject }: Job) => (subject.kind === "bad" && Object.keys(subject.limits).length > 0 ? 0 : 1);
  return jobs.toSorted((one, two) => waits(one) - waits(two));
}

function timesOf(subject: CatalogueSubject, honestTimes: number): number[] {
  return Array.from({ length: subject.kind === "honest" ? honestTimes : 1 }, (_, index) => index + 1);
}

async function runSubject(
  subject: CatalogueSubject,
  time: number,
  options: CalibrationOptions,
): Promise<SubjectResult> {
  const started = performance.now();
  const folder = join(options.folder, `${subject.id}-${time}`);
  mkdirSync(folder, { mode: 0o700 });
  const file = join(folder, "subject.json");
  const output = join(folder, "run");
  writePrivateJson(file, subjectFile(subject, options.executableSha256));
  await runProgram({
    ...options.self(["accept", "--subject", file, "--output-dir", output, "--json"]),
    cwd: folder,
    env: options.environment,
    timeoutMs: calibrateLimits.subjectMs,
    maxOutputBytes: calibrateLimits.outputBytes,
    ...(options.onStarted === undefined ? {} : { note: options.onStarted }),
  });
  const weighed = weigh(subject, readReport(join(output, "report.json")));
  if (weighed.hit) rmSync(folder, { recursive: true, force: true });
  return { id: subject.id, kind: subject.kind, time, ...weighed, ms: Math.round(performance.now() - started) };
}

/** A finished report, or null. */
export function readReport(path: string): Report | null {
  try {
    const parsed = Report.safeParse(parseJson(readRegularFile(path, { maxBytes: calibrateLimits.reportBytes })));
    return parsed.success ? parsed.data : null;
  } catch {
    // No report means the subject was not judged; `weigh` makes that a miss.
    return null;
  }
}
