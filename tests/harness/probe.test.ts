// Values drawn for the run, weighed in our process: right, wrong, refusing the wrong way, or not answering at all.
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Fixture } from "../../src/harness/fixture.ts";
import { drawCases, probeImplementation } from "../../src/harness/probe.ts";
import type { Run } from "../../src/harness/run.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function probed(source: string): Promise<{ cases: number; right: number }> {
  await using dir = await tempFolder();
  await Bun.write(join(dir.path, "clamp.ts"), source);
  const fixture = { folder: dir.path, implementation: "clamp.ts", python: null } as unknown as Fixture;
  const census = { note: () => undefined };
  const run = { census, space: { temp: dir.path }, env: { PATH: "/usr/bin:/bin" }, limits: { testRunMs: 30_000 } };
  return await probeImplementation(run as unknown as Run, fixture);
}

const body = "return Math.max(lower, Math.min(value, upper)); }";
const head = "export function clamp(value: number, lower: number, upper: number): number { ";

test("a right implementation has every value right; one without its error, or with another result, has not", async () => {
  const right = await probed(`${head}if (lower > upper) throw new RangeError("x"); ${body}`);
  expect(right).toEqual({ cases: 12, right: 12 });
  expect((await probed(head + body)).right).toBe(9);
  expect((await probed(`${head}return value; }`)).right).toBe(3);
});

test("an implementation that prints what it likes, or ends the process, has none right", async () => {
  expect((await probed(`console.log("[1,2,3]"); ${head}return value; }`)).right).toBe(0);
  expect((await probed("process.exit(0);")).right).toBe(0);
});

test("the cases lie below, inside and above each range, and once in a range that is none", () => {
  const cases = drawCases(() => new Uint8Array([1, 2, 3, 4]));
  expect(cases.slice(0, 4)).toEqual([
    [253, 258, 263],
    [259, 258, 263],
    [268, 258, 263],
    [4, 263, 258],
  ]);
});
