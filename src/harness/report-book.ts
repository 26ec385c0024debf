// The report while it is written: one object, and one private atomic write for every checkpoint.
import { join } from "node:path";
import { type Clock, systemClock } from "../base/clock.ts";
import { codeOf } from "../base/failure.ts";
import { writePrivateJson } from "../base/private-files.ts";
import {
  acceptanceEffort,
  acceptanceModel,
  type ReportPhase,
  reportFormat,
  type TimelineEntry,
} from "../contract/report.ts";
import { markFailed, unwritable } from "./out-of-room.ts";

export type Fields = Record<string, unknown>;

export interface BookOptions {
  readonly folder: string;
  readonly hostJobId: string | null;
  readonly sourceHead: string;
  readonly scriptSha256: string;
  readonly clock?: Clock;
  readonly onPhase?: (phase: ReportPhase) => void;
  /** How a value gets on disk, whole or not at all. */
  readonly write?: (path: string, value: unknown) => void;
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
  readonly #write: (path: string, value: unknown) => void;
  /** What is on disk. */
  #written: Fields = {};
  #phase: ReportPhase = "preflight";

  constructor(options: BookOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#path = join(options.folder, "report.json");
    this.#onPhase = options.onPhase ?? (() => undefined);
    this.#write = options.write ?? writePrivateJson;
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

  /** Writes the report in this phase, or once more in the one it is in; fails with `harness_evidence_unwritable`. */
  checkpoint(phase: ReportPhase = this.#phase): void {
    this.#phase = phase;
    this.report["phase"] = phase;
    this.report["updated_at_unix"] = this.now();
    const last = this.timeline.at(-1);
    if (last?.what !== phase && this.timeline.length < 500) this.timeline.push({ at_unix: this.now(), what: phase });
    try {
      this.#write(this.#path, this.report);
      this.#written = structuredClone(this.report);
    } catch (cause) {
      throw unwritable(cause);
    }
    this.#onPhase(phase);
  }

  /** The same on the way out, where clean-up goes on whatever the disk does; false when it was not written. */
  tryCheckpoint(phase?: ReportPhase): boolean {
    try {
      this.checkpoint(phase);
      return true;
    } catch (error) {
      if (codeOf(error) !== "harness_evidence_unwritable") throw error;
      return false;
    }
  }

  /** Says in what is on disk that the run failed, when the whole report cannot be written any more. */
  markFailed(failure: string): boolean {
    return markFailed(this.#path, this.#written, failure);
  }
}
