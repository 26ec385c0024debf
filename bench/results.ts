// What a whole run of the benches says: the table, what was not measured, and what got worse since the stored run.
// Pure: rows in, text out.
import type { BenchRow } from "./measure.ts";

/** A ratio this much worse than the stored one is named even while the bar is still met. */
const worseBy = 1.25;

export interface Unmeasured {
  readonly bench: string;
  readonly why: string;
}

/** A markdown table, one bar a line. */
export function tableOf(rows: readonly BenchRow[]): string {
  return [
    "| bar | floor | value | ratio | limit | spread | verdict |",
    "|---|---|---|---|---|---|---|",
    ...rows.map(
      (one) =>
        `| ${one.bar} | ${one.floor} | ${one.value} | ${one.ratio.toFixed(2)} | ${one.sense} ${one.limit} | ${one.spread} | ${one.ok ? "met" : "**missed**"} |`,
    ),
  ].join("\n");
}

/** Lines about bars that are worse than in the stored run; a bar that is new there is no regression. */
export function regressions(rows: readonly BenchRow[], stored: readonly BenchRow[]): string[] {
  return rows.flatMap((now) => {
    const before = stored.find((other) => other.bar === now.bar);
    if (before === undefined) return [];
    const was = `ratio ${before.ratio.toFixed(2)}, now ${now.ratio.toFixed(2)}`;
    if (before.ok && !now.ok) return [`regression: ${now.bar} was met (${was})`];
    const factor = now.sense === "at most" ? now.ratio / before.ratio : before.ratio / now.ratio;
    return factor > worseBy ? [`worse: ${now.bar} (${was})`] : [];
  });
}

/** The whole text after the table. */
export function notes(
  rows: readonly BenchRow[],
  more: { unmeasured: readonly Unmeasured[]; worse: readonly string[] },
) {
  const missed = rows.filter((one) => !one.ok).length;
  return [
    ...more.unmeasured.map((one) => `not measured: ${one.bench}, ${one.why}`),
    ...more.worse,
    `${rows.length - missed} met, ${missed} missed, ${more.unmeasured.length} not measured`,
  ];
}
