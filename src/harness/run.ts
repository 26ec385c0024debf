// What every stage of one acceptance run shares. Stages read it and add to its report and facts, nothing else.
import type { Environment } from "../base/environment.ts";
import type { ProcessGroup } from "../base/process-group.ts";
import type { Secret } from "../base/secret.ts";
import type { PrintedSecret, ReportFacts } from "../contract/report.ts";
import type { Fault } from "../judge/fault-points.ts";
import type { Canary } from "./canaries.ts";
import type { CensusRecord } from "./census-record.ts";
import type { FaultDriver } from "./fault.ts";
import type { Fixture } from "./fixture.ts";
import type { RunLimits } from "./limits.ts";
import type { ModelSeat } from "./model-seat.ts";
import type { Operator } from "./operator.ts";
import type { ReportBook } from "./report-book.ts";
import type { SeatPlan } from "./seats.ts";
import type { Workspace } from "./workspace.ts";

/** What a run is at; recovery lies inside the managed stage. */
export type RunStage = "preflight" | "fixtures" | "provision" | "consumer" | "managed" | "closing";

export interface AcceptOptions {
  readonly outputDir: string;
  readonly binDir?: string | undefined;
  readonly codexPath?: string | undefined;
  readonly adapterScript?: string | undefined;
  readonly nodePath?: string | undefined;
  readonly account: boolean;
  readonly fixture: "auto" | "python" | "typescript";
  readonly timeoutS: number;
  readonly hostJobId: string | null;
  readonly misbehave: { readonly [seat in "consumer" | "agent" | "server" | "runner"]?: string | undefined };
  /** One process to end at one point. */
  readonly fault?: Fault | null | undefined;
  /** No further stage once one has failed. */
  readonly failFast?: boolean | undefined;
  /** The one stage to run, for calibration. What is left out stays unproven, so such a run never passes. */
  readonly only?: "consumer" | "managed" | undefined;
  /** `sha256` where it was read already. */
  readonly program: { readonly version: string; readonly commit: string; readonly sha256?: string | undefined };
  readonly environment: Environment;
  readonly stateFolder: string;
}

export interface Services {
  url: string;
  port: number;
  project: string;
  server: ProcessGroup | null;
  runner: ProcessGroup | null;
  /** The scripted model, when real programs need one. */
  model: ModelSeat | null;
  readonly logs: string[];
}

export interface Run {
  readonly options: AcceptOptions;
  readonly limits: RunLimits;
  readonly book: ReportBook;
  readonly space: Workspace;
  readonly env: Record<string, string>;
  readonly plan: SeatPlan;
  readonly census: CensusRecord;
  readonly canaries: Canary[];
  readonly services: Services;
  readonly facts: { -readonly [K in keyof ReportFacts]: ReportFacts[K] };
  readonly bootstrap: Secret;
  /** Rejects when the run was told to stop. */
  readonly stopped: Promise<never>;
  fixture: Fixture | null;
  operator: Operator | null;
  consumerToken: string;
  consumer: ProcessGroup | null;
  readonly fault: FaultDriver | null;
  /** Where a credential of this run was seen in what a program printed or answered. */
  readonly printed: PrintedSecret[];
  /** Set when clean-up begins: a stage that was left behind in the middle starts nothing more. */
  closing: boolean;
  /** Told when a stage begins; for those who watch. */
  readonly entered: (stage: RunStage) => void;
}
