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
    notes: ["Also ends what a killed run left behind. Exit 1 when a problem was found; notes are no problem."],
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
      list.push(await leftoverFinding());
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

async function leftoverFinding(): Promise<Finding> {
  const { endDeadRuns } = await import("../harness/live-file.ts");
  const ended = await endDeadRuns(stateFolder());
  const check = "killed runs";
  if (ended.length === 0) return { check, outcome: "ok", says: "none" };
  const sum = (name: "ended" | "stillVisible") => ended.reduce((total, run) => total + run[name], 0);
  const says = `${ended.length} found, processes ended: ${sum("ended")}, still visible: ${sum("stillVisible")}`;
  if (sum("stillVisible") > 0)
    return { check, outcome: "problem", says, next: "Ask again; if they stay, end them as the user who started them." };
  return { check, outcome: "note", says, next: "Nothing: what they left has been ended." };
}

function table(list: readonly Finding[], healthy: boolean): string {
  const width = Math.max(...list.map((one) => one.check.length));
  const lines = list.flatMap((one) => [
    `${marks[one.outcome]}  ${one.check.padEnd(width)}  ${one.says}`,
    ...(one.next === undefined ? [] : [`${" ".repeat(width + 11)}→ ${one.next}`]),
  ]);
  return [...lines, "", healthy ? "This host can run Proctor." : "Mend the problems above, then ask again."].join("\n");
}
