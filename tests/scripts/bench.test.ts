// The frame of the benches: verdicts, the comparison with the stored run, the arithmetic.
import { expect, test } from "bun:test";
import { type BenchRow, median, quantile, row, spreadOf } from "../../bench/measure.ts";
import { notes, regressions, tableOf } from "../../bench/results.ts";

const facts = { bar: "a", floor: "f", value: "v", spread: "s" };
const most = (ratio: number, limit = 2) => row({ ...facts, ratio, limit, sense: "at most" });
const least = (ratio: number, limit = 3) => row({ ...facts, ratio, limit, sense: "at least" });

test("row() meets its bar at the limit and misses it one step past", () => {
  expect([most(2).ok, most(2.01).ok, least(3).ok, least(2.99).ok]).toEqual([true, false, true, false]);
});

test("regressions() names a bar that was met and is missed, and one that is a quarter worse", () => {
  expect(regressions([most(2.1)], [most(1.9)])).toEqual(["regression: a was met (ratio 1.90, now 2.10)"]);
  expect(regressions([most(1.26)], [most(1)])).toEqual(["worse: a (ratio 1.00, now 1.26)"]);
  expect(regressions([least(3)], [least(3.8)])).toEqual(["worse: a (ratio 3.80, now 3.00)"]);
});

test("regressions() is silent about what is better, about equal, still missed or new", () => {
  expect(regressions([most(1.25)], [most(1)])).toEqual([]);
  expect(regressions([least(9)], [least(3)])).toEqual([]);
  expect(regressions([most(2.2)], [most(2.1)])).toEqual([]);
  expect(regressions([most(2)], [])).toEqual([]);
});

test("tableOf() and notes() show every bar and what was not measured", () => {
  const rows: BenchRow[] = [most(1), least(1)];

  expect(tableOf(rows).split("\n").slice(2)).toEqual([
    "| a | f | v | 1.00 | at most 2 | s | met |",
    "| a | f | v | 1.00 | at least 3 | s | **missed** |",
  ]);
  expect(notes(rows, { unmeasured: [{ bench: "relay", why: "it failed" }], worse: ["worse: a"] })).toEqual([
    "not measured: relay, it failed",
    "worse: a",
    "1 met, 1 missed, 1 not measured",
  ]);
});

test("median(), quantile() and spreadOf() do not change what they are given", () => {
  const values = [3, 1, 2, 10];

  expect([median(values), median([5]), quantile(values, 0.99), spreadOf(values, 0)]).toEqual([2.5, 5, 10, "1–10"]);
  expect(values).toEqual([3, 1, 2, 10]);
});
