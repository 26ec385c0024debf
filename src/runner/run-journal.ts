// What must survive the runner: one private file a run, replaced whole. It decides, after a crash, whether a prompt
// may have been sent. Records that cannot be read stay where they are and are never taken for "no record".
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../base/bytes.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { parseJson } from "../base/json.ts";
import { readPrivateFile, replacePrivateFile } from "../base/private-files.ts";
import { isTerminal, RunSnapshot, snapshotIsLegal } from "../contract/runs.ts";
import { z } from "../contract/schema.ts";
import type { RunnerCode } from "./codes.ts";
import { runnerLimits } from "./limits.ts";

const RunRecord = z.strictObject({
  schema_version: z.literal(1),
  dispatch_phase: z.enum(["before_prompt_barrier", "prompt_dispatch_may_have_occurred", "terminal"]),
  run: RunSnapshot,
});
export type RunRecord = z.infer<typeof RunRecord>;

export class RunJournal {
  readonly #folder: string;

  /** `stateFolder` is `<XDG_STATE_HOME>/webcodex`; each client and server pair has a folder of its own. */
  constructor(stateFolder: string, identity: { readonly clientId: string; readonly serverUrl: string }) {
    const namespace = sha256Hex(`proctor-runner-runs-v1\0${identity.clientId}\0${identity.serverUrl}`);
    this.#folder = join(stateFolder, "runner-coding-agent-runs-v1", namespace);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** The record of this run, or null when there is none; `runner_record_invalid` for one that cannot be trusted. */
  read(runId: string): RunRecord | null {
    const folder = this.#folderOf(runId);
    try {
      readdirSync(folder);
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return null;
      throw new Failure<RunnerCode>("runner_record_invalid", { cause: error });
    }
    return readRecord(folder, sha256Hex(runId));
  }

  write(record: RunRecord): void {
    const folder = this.#folderOf(record.run.run_id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const bytes = JSON.stringify(record);
    if (bytes.length > runnerLimits.maxRecordBytes) throw new Failure<RunnerCode>("runner_record_invalid");
    replacePrivateFile(join(folder, "state.json"), `${bytes}\n`);
  }

  /** Every readable record; terminal ones past their time are removed first. Too many records is a failure. */
  scan(wallMs: number): RunRecord[] {
    const entries = readdirSync(this.#folder, { withFileTypes: true });
    if (entries.some((entry) => !entry.isDirectory())) throw new Failure<RunnerCode>("runner_state_unreadable");
    const records: RunRecord[] = [];
    for (const entry of entries) {
      const folder = join(this.#folder, entry.name);
      let record: RunRecord;
      try {
        record = readRecord(folder, entry.name);
      } catch {
        continue; // Left in place: read() refuses this run id instead of prompting it again.
      }
      const old = record.run.updated_at * 1000 + runnerLimits.recordRetentionMs < wallMs;
      if (record.dispatch_phase === "terminal" && old) rmSync(folder, { recursive: true });
      else records.push(record);
    }
    if (records.length > runnerLimits.maxRecords) throw new Failure<RunnerCode>("runner_state_unreadable");
    return records;
  }

  #folderOf(runId: string): string {
    return join(this.#folder, sha256Hex(runId));
  }
}

function readRecord(folder: string, digest: string): RunRecord {
  try {
    const value = parseJson(readPrivateFile(join(folder, "state.json"), { maxBytes: runnerLimits.maxRecordBytes }));
    const record = RunRecord.parse(value);
    const named = sha256Hex(record.run.run_id) === digest;
    const agreed = (record.dispatch_phase === "terminal") === isTerminal(record.run.state);
    if (named && agreed && snapshotIsLegal(record.run)) return record;
  } catch (cause) {
    throw new Failure<RunnerCode>("runner_record_invalid", { cause });
  }
  throw new Failure<RunnerCode>("runner_record_invalid");
}
