// The bars of the page's picture are read from the checkpoints alone.
import { expect, test } from "bun:test";
import { spansOf } from "../../src/evidence/spans.ts";
import { honestReport } from "./honest-report.ts";

const seconds = (spans: ReturnType<typeof spansOf>) =>
  spans.map((span) => [span.label, Math.round(span.from * 10) / 10, Math.round(span.to * 10) / 10]);

test("each stretch has its start and end, the outage among them", () => {
  expect(seconds(spansOf(honestReport()))).toEqual([
    ["Set-up", 0, 1.2],
    ["Consumer reads", 1.2, 2],
    ["Managed run", 2.1, 8],
    ["Server away", 4, 5],
    ["Clean-up", 8, 9],
  ]);
});

test("what never began is left out, what never ended lasts to the end of the run", () => {
  const report = honestReport();
  report.timeline = report.timeline!.filter((entry) => entry.at_unix < 1_767_000_005);
  expect(seconds(spansOf(report)).slice(-2)).toEqual([
    ["Managed run", 2.1, 9],
    ["Server away", 4, 9],
  ]);
  report.timeline = [];
  expect(spansOf(report)).toEqual([]);
});
