// Clean-up, after every outcome: the run is asked for once more and cancelled when it lives on, then services end,
// logs are reduced, and what is left is looked at. Its answers are facts; none of them can make a run pass.
import { isRecord } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import { readAudit } from "../contract/audit.ts";
import { isTerminal } from "../judge/recovery.ts";
import { stopConsumer } from "./consumer.ts";
import { harnessLimits } from "./limits.ts";
import { endProcesses } from "./live-file.ts";
import { lastAuditFacts } from "./managed-work.ts";
import { stopModel } from "./model-seat.ts";
import type { Operator } from "./operator.ts";
import type { Run } from "./run.ts";
import { summarizeAndRemoveLog } from "./service-log.ts";
import { stopService } from "./services.ts";

/** Ends everything of the run and records how. In a hurry nobody is asked and everything is killed at once. */
export async function closeRun(run: Run, { hurry = false } = {}): Promise<void> {
  const { book, services } = run;
  if (hurry) {
    await endProcesses(() => run.census.living());
    if (run.operator?.binding != null) book.cleanup["execution_outcome"] = "outcome_unknown";
  }
  if (book.cleanup["consumer_group_stopped"] !== true) await stopConsumer(run);
  const operator = services.server?.running() === true ? run.operator : null;
  if (operator !== null) await settleRun(run, operator);
  const runnerGone = await stopService(run, services.runner);
  const serverGone = await stopService(run, services.server);
  await stopModel(run);
  book.cleanup["service_logs"] = services.logs.map((path) => summarizeAndRemoveLog(path, run));
  book.managed["acp_audit"] = auditSummary(run);
  // The relay notes its adapter's end last, so the evidence is the file as it stands when all has ended.
  run.facts.audit = lastAuditFacts(run);
  await endProcesses(() => run.census.living());
  Object.assign(book.cleanup, {
    process_cleanup_finished: true,
    server_stopped: serverGone && services.server?.running() !== true,
    runner_stopped: runnerGone && services.runner?.running() !== true,
    consumer_stopped: run.consumer === null || !run.consumer.running(),
    private_recovery_state_retained: true,
  });
}

async function settleRun(run: Run, operator: Operator): Promise<void> {
  const { book } = run;
  const attempt = book.managed["attempt_id"];
  if (typeof attempt === "string") {
    try {
      const ids = { task_id: book.managed["task_id"], attempt_id: attempt };
      const found = await operator.tool("reconcile_agent_task_coding_run", ids);
      if (typeof found["run_id"] === "string") {
        operator.binding = found;
        book.managed["run_id"] = found["run_id"];
      }
    } catch {
      // The run may never have been bound; what is known of it stays.
      book.cleanup["binding_reconcile"] = "unavailable";
    }
  }
  const runId = operator.binding?.["run_id"];
  if (typeof runId === "string") await endExecution(run, operator, runId);
}

async function endExecution(run: Run, operator: Operator, runId: string): Promise<void> {
  const { cleanup } = run.book;
  const observe = async (wait: number) => {
    const answer = await operator.tool("observe_coding_agent", { run_id: runId, wait_secs: wait });
    return typeof answer["state"] === "string" ? answer["state"] : "unknown";
  };
  try {
    let state = await observe(0);
    if (!isTerminal(state)) {
      await operator.tool("cancel_coding_agent", { run_id: runId });
      cleanup["cancel_requested_for"] = runId;
      const started = performance.now();
      while (!isTerminal(state) && performance.now() - started < run.limits.cancelWaitMs) {
        const left = run.limits.cancelWaitMs - (performance.now() - started);
        state = await observe(Math.max(0, Math.min(harnessLimits.cancelObserveWaitS, Math.ceil(left / 1000))));
      }
    }
    Object.assign(cleanup, executionEnd(state));
  } catch {
    // Nobody answered for the run any more: that is uncertain, not ended.
    cleanup["execution_terminal_observed"] = false;
    cleanup["execution_outcome"] = "outcome_unknown";
  }
}

/** What the state seen last says about the end; `lost` is an end nobody saw. */
export function executionEnd(state: string): { execution_terminal_observed: boolean; execution_outcome: string } {
  return {
    execution_terminal_observed: ["completed", "failed", "cancelled"].includes(state),
    execution_outcome: state === "lost" ? "outcome_unknown" : state,
  };
}

function auditSummary(run: Run): Record<string, unknown> {
  try {
    const { records } = readAudit(readRegularFile(run.space.audit, { maxBytes: harnessLimits.auditBytes }));
    const of = (event: string) => records.filter((record) => record.event === event);
    const categories: Record<string, number> = {};
    for (const record of of("diagnostic"))
      if (isRecord(record) && "category" in record) {
        const name = String(record["category"]);
        categories[name] = (categories[name] ?? 0) + 1;
      }
    return {
      adapter_processes: of("adapter_process_started").length,
      prompt_dispatches: of("prompt_dispatch").length,
      effective_configs_at_prompt: of("prompt_dispatch").map((record) =>
        "effective_config" in record ? record.effective_config : null,
      ),
      diagnostic_categories: categories,
    };
  } catch {
    return { observation: "unavailable" };
  }
}
