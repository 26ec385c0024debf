// A calibration as a table: Markdown for the docs, plain lines for a terminal.
import { counted } from "../base/counted.ts";
import { catalogue } from "./catalogue.ts";
import type { Calibration, SubjectResult } from "./run.ts";

/** One line for people about one finished subject. */
export function resultLine(result: SubjectResult): string {
  const seen = `${result.seen.outcome}${result.seen.code === null ? "" : ` ${result.seen.code} (${result.seen.party})`}`;
  const wanted = `${result.expected.outcome}${result.expected.code === null ? "" : ` ${result.expected.code}`}`;
  return result.hit ? `hit   ${result.id}: ${seen}` : `MISS  ${result.id}: expected ${wanted}, saw ${seen}`;
}

/** The summary and every miss. */
export function calibrationText(calibration: Calibration): string {
  const { bad, honest, runs, misses, results } = calibration;
  const missed = results.filter((result) => !result.hit).map(resultLine);
  return [
    `${bad} bad and ${honest} honest subjects, ${counted(runs, "run")}, ${counted(misses, "miss", "misses")}`,
    ...missed,
  ].join("\n");
}

/** The catalogue as Markdown: what each subject does and what it has to be answered with. */
export function catalogueMarkdown(): string {
  const rows = catalogue.map((subject) =>
    subject.kind === "bad"
      ? `| \`${subject.id}\` | ${subject.seat} | refused | \`${subject.code}\` | ${subject.party} |`
      : `| \`${subject.id}\` | ${subject.seat} | passed | | |`,
  );
  return ["| subject | seat | answer | code | whose doing |", "|---|---|---|---|---|", ...rows].join("\n");
}
