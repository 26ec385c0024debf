// The worker of `accept`: started by it and by nothing else. The end of its input means that its front is gone.
import { descendantsOf, type ProcessId } from "../base/census.ts";
import { codeOf } from "../base/failure.ts";
import { processEnvironment } from "../base/self.ts";
import { becomeSubreaper } from "../base/subreaper.ts";
import { acceptArguments, acceptOptions, readSubject } from "./accept-options.ts";
import { acceptProgress, stderrScreen } from "./accept-progress.ts";
import { acceptSummary } from "./accept-summary.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult, stdoutIsTerminal, tell, tellLines } from "./result.ts";
import { sentenceOf } from "./sentences.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "accept-worker",
    description: "The run itself, under the deadman of `accept`.",
    examples: ["proctor accept"],
    hidden: true,
  },
  args: acceptArguments,
  async run({ args }) {
    const subreaper = becomeSubreaper();
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort("signal"));
    const front = await frontOf(stop);
    const { failureOf, runAcceptance } = await import("../harness/harness.ts");
    const watch = args.json ? null : acceptProgress(stderrScreen(processEnvironment()));
    try {
      const subject = await readSubject(args.subject);
      const report = await runAcceptance(acceptOptions(args, subject), {
        limits: subject?.limits ?? {},
        front,
        subreaper,
        stop: stop.signal,
        onFolder: (path) => {
          if (!args.json) tell(`Evidence: ${path}`);
        },
        ...(watch === null ? {} : { onPhase: (phase) => watch.phase(phase), onStage: (stage) => watch.stage(stage) }),
      });
      watch?.end();
      await writePages(String(report["output_dir"]), args);
      const summary = args.json ? "" : await acceptSummary(report);
      if (!args.json && !stdoutIsTerminal()) tellLines(summary.split("\n"));
      printResult(report, { json: args.json, text: () => summary });
      process.exit(report["state"] === "passed" ? exitNumbers.done : exitNumbers.failed);
    } catch (error) {
      watch?.end("failed");
      const failure = failureOf(error);
      if (failure === "harness_front_gone") await endOwnChildren();
      // A full disk has a sentence of its own, whatever could not be written for it.
      const code = failure === "harness_evidence_unwritable" ? failure : codeOf(error);
      tell(`proctor accept: ${await sentenceOf(code)} [${failure}]`);
      // The signal handlers and the front's pipe would hold this process for good, so it ends whatever stdout takes.
      try {
        if (failure !== "output_unwritable") printResult({ state: "failed", failure }, { json: true });
      } finally {
        process.exit(exitNumbers.failed);
      }
    }
  },
});

async function writePages(
  folder: string,
  args: { junit: string | undefined; html: string | undefined },
): Promise<void> {
  if (args.junit === undefined && args.html === undefined) return;
  const { loadWholeReport } = await import("../evidence/load.ts");
  const { writeEvidence } = await import("../evidence/write.ts");
  const loaded = loadWholeReport(folder);
  if (args.html !== undefined) writeEvidence(args.html, (await import("../evidence/html.ts")).renderHtml(loaded));
  if (args.junit !== undefined) {
    const { renderJunit } = await import("../evidence/junit.ts");
    writeEvidence(args.junit, renderJunit(loaded.report, loaded.digest));
  }
}

/** With the front gone before there was a run, nobody else ends what was being asked. */
async function endOwnChildren(): Promise<void> {
  const { endProcesses } = await import("../harness/live-file.ts");
  await endProcesses(() => descendantsOf([process.pid]));
}

/** The front says who it is in one line and holds the pipe open as long as it lives. */
async function frontOf(stop: AbortController): Promise<ProcessId | undefined> {
  const reader = Bun.stdin.stream().getReader();
  let text = "";
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += new TextDecoder().decode(part.value);
      const [, pid, startTicks] = /^(\d{1,10}) (\d{1,20})\n/.exec(text) ?? [];
      if (pid === undefined && text.length <= 64) continue;
      untilGone(reader, stop);
      return pid === undefined ? undefined : { pid: Number(pid), startTicks: Number(startTicks) };
    }
  } catch {
    // An input that cannot be read has nobody at its other end.
  }
  stop.abort("front");
  return undefined;
}

function untilGone(reader: { read(): Promise<{ done: boolean }> }, stop: AbortController): void {
  const look = async (): Promise<void> => {
    while (!(await reader.read()).done);
    stop.abort("front");
  };
  look().catch(() => stop.abort("front"));
}
