// A run whose stages a test calls one by one, with programs of the test's choice in its seats.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openRun, type RunDoors } from "../../src/harness/harness.ts";
import type { AcceptOptions, Run } from "../../src/harness/run.ts";
import type { Program, SeatPlan } from "../../src/harness/seats.ts";
import { stopService } from "../../src/harness/services.ts";
import { createOutputFolder } from "../../src/harness/workspace.ts";
import { projectRoot } from "../support/binary.ts";

/** Options of a run in `folder`, every seat embedded unless changed. */
export function acceptOptions(folder: string, more: Partial<AcceptOptions> = {}): AcceptOptions {
  return {
    outputDir: join(folder, "out"),
    account: false,
    fixture: "auto",
    timeoutS: 300,
    hostJobId: null,
    misbehave: {},
    program: { version: "0", commit: "source" },
    environment: { PATH: "/usr/bin:/bin" },
    stateFolder: join(folder, "state/proctor"),
    ...more,
  };
}

export interface StageRun extends AsyncDisposable {
  readonly run: Run;
  /** What the recorders wrote down, in order. */
  recorded(): Recorded[];
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
export type Recorded = Record<string, any>;

export interface StageOptions {
  readonly accept?: Partial<AcceptOptions>;
  readonly doors?: RunDoors;
  readonly plan?: (recorders: Recorders) => Partial<SeatPlan>;
}

export interface Recorders {
  /** Answers as told and writes down every request. */
  server(play?: object): Program;
  runner(): Program;
  consumer(play?: object): Program;
}

export const standinProject = "agent:codex-acceptance-runner:fixture";

/** Opens a run below `folder`; leaving the scope ends its services. */
export function stageRun(folder: string, options: StageOptions = {}): StageRun {
  const { accept, doors = {}, plan = (all) => ({ server: all.server(), runner: all.runner() }) } = options;
  const log = join(folder, "recorded.jsonl");
  appendFileSync(log, "");
  const outputDir = createOutputFolder(join(folder, "out"));
  const opened = openRun({ ...acceptOptions(folder, accept), outputDir }, doors);
  const run: Run = { ...opened, plan: { ...opened.plan, ...plan(recorders(log)) } };
  return {
    run,
    recorded: () =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .split("\n")
            .filter(Boolean)
            .map((line) => JSON.parse(line) as Recorded)
        : [],
    async [Symbol.asyncDispose]() {
      for (const group of [run.consumer, run.services.runner, run.services.server]) await stopService(run, group);
      run.census.close();
    },
  };
}

function recorders(log: string): Recorders {
  const mark = `${log}.runner`;
  const program = (name: string, ...words: string[]): Program => ({
    command: process.execPath,
    args: [`${projectRoot}fixtures/programs/${name}.ts`, log, ...words],
  });
  return {
    server: (play = {}) => program("control-standin", JSON.stringify({ project: standinProject, ...play }), mark),
    runner: () => program("runner-recorder", mark),
    consumer: (play = {}) => program("consumer-recorder", JSON.stringify(play)),
  };
}
