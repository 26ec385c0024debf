// `proctor report DIR`: render a finished report as one page and as JUnit.
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "report",
    description: "Render a finished report: one self-contained page, JUnit for CI.",
    examples: ["proctor report RUN --html RUN/report.html --junit RUN/junit.xml"],
    notes: ["Ends with 0 when it was rendered, whatever the run came to."],
  },
  args: {
    path: { type: "positional", valueHint: "DIR", required: true, description: "Report folder or file." },
    html: { type: "string", valueHint: "F", description: "Write the page to this file." },
    junit: { type: "string", valueHint: "F", description: "Write JUnit XML to this file." },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    const { loadWholeReport } = await import("../evidence/load.ts");
    const { writeEvidence } = await import("../evidence/write.ts");
    const loaded = loadWholeReport(args.path);
    if (args.html !== undefined) {
      const { renderHtml } = await import("../evidence/html.ts");
      writeEvidence(args.html, renderHtml(loaded));
    }
    if (args.junit !== undefined) {
      const { renderJunit } = await import("../evidence/junit.ts");
      writeEvidence(args.junit, renderJunit(loaded.report, loaded.digest));
    }
    const { state, verdict, phase } = loaded.report;
    const { stateText } = await import("../evidence/verification-text.ts");
    const outcome = verdict?.outcome ?? "unknown";
    const value = { state, outcome, phase, digest: loaded.digest, html: args.html ?? null, junit: args.junit ?? null };
    printResult(value, { json: args.json, text: () => `Run ${stateText(state, outcome)}, digest ${loaded.digest}` });
    return exitNumbers.done;
  },
});
