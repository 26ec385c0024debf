// `proctor doctor`: does this host have what a run needs, and what to do where it has not. Safe to paste anywhere.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { homeFolder, processEnvironment, stateFolder } from "../base/self.ts";
import { buildFacts } from "../version.ts";
import { type Finding, findings } from "./doctor-checks.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

const marks = { ok: "ok     ", note: "note   ", problem: "PROBLEM" } as const;

export default defineStrictCommand({
  meta: {
    name: "doctor",
    description: "Look at this host: programs, limits, file system, locks, private folders.",
    examples: ["proctor doctor", "proctor doctor --json"],
    notes: ["Exit 1 when a problem was found; notes are no problem."],
  },
  args: { json: { type: "boolean", description: "Print the findings as JSON." } },
  async run({ args }) {
    const temp = mkdtempSync(`${tmpdir()}/proctor-doctor-`);
    try {
      const list = await findings({
        environment: processEnvironment(),
        home: homeFolder(),
        state: stateFolder(),
        temp,
      });
      const healthy = list.every((one) => one.outcome !== "problem");
      printResult(
        { proctor: buildFacts(), healthy, findings: list },
        { json: args.json, text: () => table(list, healthy) },
      );
      return healthy ? exitNumbers.done : exitNumbers.failed;
    } finally {
      rmSync(temp, { recursive: true, force: true });
    }
  },
});

function table(list: readonly Finding[], healthy: boolean): string {
  const width = Math.max(...list.map((one) => one.check.length));
  const lines = list.flatMap((one) => [
    `${marks[one.outcome]}  ${one.check.padEnd(width)}  ${one.says}`,
    ...(one.next === undefined ? [] : [`${" ".repeat(width + 11)}→ ${one.next}`]),
  ]);
  return [...lines, "", healthy ? "This host can run Proctor." : "Mend the problems above, then ask again."].join("\n");
}
