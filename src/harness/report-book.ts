// The report while it is written: one object, and one private atomic write for every checkpoint.
import { join } from "node:path";
import { type Clock, systemClock } from "../base/clock.ts";
import { writePrivateJson } from "../base/private-files.ts";
import {
  acceptanceEffort,
  acceptanceModel,
  type ReportPhase,
  reportFormat,
  type TimelineEntry,
} from "../contract/report.ts";

export type Fields = Record<string, unknown>;

export interface BookOptions {
  readonly folder: string;
  readonly hostJobId: string | null;
  readonly sourceHead: string;
  readonly scriptSha256: string;
  readonly clock?: Clock;
  readonly onPhase?: (phase: ReportPhase) => void;
}

/** Sections are open objects; `checkpoint` puts them on disk before anything else happens. */
export class ReportBook {
  readonly report: Fields;
  readonly consumer: Fields = { passed: false };
  readonly managed: Fields = { passed: false };
  readonly recovery: Fields = { passed: false };
  readonly cleanup: Fields = { process_cleanup_finished: false, execution_terminal_observed: false };
  readonly timeline: TimelineEntry[] = [];
  readonly notes: string[] = [];
  readonly #path: string;
  readonly #clock: Clock;
  readonly #onPhase: (phase: ReportPhase) => void;
  #phase: ReportPhase = "preflight";

  constructor(options: BookOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#path = join(options.folder, "report.json");
    this.#onPhase = options.onPhase ?? (() => undefined);
    this.report = {
      format: reportFormat,
      state: "running",
      started_at_unix: this.now(),
      source_head: options.sourceHead,
      script_sha256: options.scriptSha256,
      model: acceptanceModel,
      effort: acceptanceEffort,
      host_job_id: options.hostJobId,
      process_id: process.pid,
      output_dir: options.folder,
      consumer: this.consumer,
      managed: this.managed,
      recovery: this.recovery,
      cleanup: this.cleanup,
      timeline: this.timeline,
      notes: this.notes,
    };
    this.checkpoint("preflight");
  }

  now(): number {
    return this.#clock.wallMs() / 1000;
  }

  /** Writes the report in this phase, or once more in the one it is in. */
  checkpoint(phase: ReportPhase = this.#phase): void {
    this.#phase = phase;
    this.report["phase"] = phase;
    this.report["updated_at_unix"] = this.now();
    const last = this.timeline.at(-1);
    if (last?.what !== phase && this.timeline.length < 500) this.timeline.push({ at_unix: this.now(), what: phase });
    writePrivateJson(this.#path, this.report);
    this.#onPhase(phase);
  }
}
