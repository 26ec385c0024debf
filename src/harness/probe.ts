// Values instead of tests: the implementation is asked for numbers that were drawn just now, and the answers are
// weighed here, in our process. Whatever it did to the test runner in its own process cannot reach this.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "../base/json.ts";
import { type RandomBytes, systemRandom } from "../base/random.ts";
import { runProgram } from "../base/run-program.ts";
import { executablePath } from "../base/self.ts";
import type { ProbeResult } from "../contract/report.ts";
import { type Fixture, sealFolder } from "./fixture.ts";
import { harnessLimits } from "./limits.ts";
import type { Run } from "./run.ts";

type Case = readonly [value: number, lower: number, upper: number];

const python = `import json, sys
sys.path.insert(0, ".")
from clamp import clamp
out = []
for value, lower, upper in json.loads(sys.argv[1]):
    try:
        out.append(clamp(value, lower, upper))
    except ValueError:
        out.append("refused")
print(json.dumps(out))
`;
const typescript = `import { clamp } from "./clamp.ts";
const out = [];
for (const [value, lower, upper] of JSON.parse(Bun.argv[2])) {
  try {
    out.push(clamp(value, lower, upper));
  } catch (error) {
    out.push(error instanceof RangeError ? "refused" : "failed");
  }
}
console.log(JSON.stringify(out));
`;

/** Asks the implementation for drawn cases; an answer that cannot be read has none right. */
export async function probeImplementation(run: Run, fixture: Fixture): Promise<ProbeResult> {
  const cases = drawCases();
  const words = JSON.stringify(cases);
  const answer =
    fixture.python === null ? await askTypescript(run, fixture, words) : await askPython(run, fixture, words);
  const values = parseJson(new TextDecoder().decode(answer).trim());
  const right = Array.isArray(values) ? cases.filter((one, at) => values[at] === expected(one)).length : 0;
  return { cases: cases.length, right };
}

/** Below, inside and above each range, and a range that is none; the numbers are another run's every time. */
export function drawCases(random: RandomBytes = systemRandom): Case[] {
  const cases: Case[] = [];
  for (let at = 0; at < harnessLimits.probeRanges; at++) {
    const [a = 0, b = 0, c = 0, d = 0] = random(4);
    const lower = a * 256 + b;
    const upper = lower + 2 + c;
    cases.push([lower - 1 - d, lower, upper], [lower + 1, lower, upper], [upper + 1 + d, lower, upper]);
    cases.push([d, upper, lower]);
  }
  return cases;
}

function expected([value, lower, upper]: Case): number | "refused" {
  return lower > upper ? "refused" : Math.max(lower, Math.min(value, upper));
}

function askPython(run: Run, fixture: Fixture, words: string): Promise<Uint8Array> {
  const args = ["-I", "-B", "-c", python, words];
  return output(run, { command: fixture.python ?? "", args, cwd: fixture.folder, env: run.env });
}

async function askTypescript(run: Run, fixture: Fixture, words: string): Promise<Uint8Array> {
  const copy = mkdtempSync(join(run.space.temp, "probe-"));
  try {
    copyFileSync(join(fixture.folder, fixture.implementation), join(copy, fixture.implementation));
    writeFileSync(join(copy, "probe.ts"), typescript);
    sealFolder(copy);
    const env = { BUN_BE_BUN: "1", PATH: run.env["PATH"] ?? "", HOME: copy, TMPDIR: run.space.temp };
    return await output(run, { command: executablePath(), args: ["probe.ts", words], cwd: copy, env });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function output(
  run: Run,
  program: { command: string; args: string[]; cwd: string; env: Record<string, string> },
): Promise<Uint8Array> {
  const limits = { timeoutMs: run.limits.testRunMs, maxOutputBytes: harnessLimits.testOutputBytes };
  return (await runProgram({ ...program, ...limits, note: (id) => run.census.note(id, "tests") })).stdout;
}
