// `proctor doctor`: does this host have what a run needs, and what to do where it has not. Safe to paste anywhere.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { homeFolder, processEnvironment, stateFolder } from "../base/self.ts";
import { buildFacts } from "../version.ts";
import { findings } from "./doctor-checks.ts";
import { type Finding, fine, note, problem } from "./doctor-finding.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { wrap } from "./help.ts";
import { printResult, terminalWidth } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

const marks = { ok: "ok     ", note: "note   ", problem: "PROBLEM" } as const;

export default defineStrictCommand({
  meta: {
    name: "doctor",
    description: "Look at this host: programs, limits, file system, locks, private folders, hooks.",
    examples: ["proctor doctor", "proctor doctor --json"],
    notes: ["Also ends what a killed run left behind. Exit 1 when a problem was found; notes are no problem."],
  },
  args: { json: { type: "boolean", description: "Print the findings as JSON." } },
  async run({ args }) {
    const list = await allFindings();
    const healthy = list.every((one) => one.outcome !== "problem");
    printResult(
      { proctor: buildFacts(), healthy, findings: list },
      { json: args.json, text: () => table(list, healthy) },
    );
    return healthy ? exitNumbers.done : exitNumbers.failed;
  },
});

async function allFindings(): Promise<Finding[]> {
  const { version, target, bun } = buildFacts();
  const own = fine("proctor", `version ${version}, ${target}, Bun ${bun}`);
  const state = orNull(stateFolder);
  // First of all: what a killed run left is gone before the slower questions are asked.
  const leftovers = await leftoverFinding(state);
  let temp: string;
  try {
    temp = mkdtempSync(`${tmpdir()}/proctor-doctor-`);
  } catch {
    return [
      own,
      problem("temporary files", "none can be made", "Point TMPDIR at a folder of yours that can be written."),
    ];
  }
  try {
    const host = { environment: processEnvironment(), home: orNull(homeFolder), state, temp };
    return [own, ...(await findings(host)), leftovers];
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

/** A folder the environment names, or null: here its absence is a finding, not a refusal. */
function orNull(folder: () => string): string | null {
  try {
    return folder();
  } catch {
    return null;
  }
}

async function leftoverFinding(state: string | null): Promise<Finding> {
  const check = "killed runs";
  if (state === null) return fine(check, "none");
  const { endDeadRuns } = await import("../harness/live-file.ts");
  try {
    const found = await endDeadRuns(state);
    if (found.length === 0) return fine(check, "none");
    const sum = (name: "ended" | "stillVisible") => found.reduce((total, run) => total + run[name], 0);
    const says = `${found.length} found, processes ended: ${sum("ended")}, still visible: ${sum("stillVisible")}`;
    return sum("stillVisible") === 0
      ? note(check, says, "Nothing to do: what they left has been ended.")
      : problem(check, says, "Ask again; what stays has to be ended by the user who started it.");
  } catch {
    return problem(check, "could not be looked for", "Mend the state folder first.");
  }
}

function table(list: readonly Finding[], healthy: boolean): string {
  const label = Math.max(...list.map((one) => one.check.length));
  const width = terminalWidth();
  // On a narrow terminal the next step stands under its mark, where there is room for words.
  const indent = width < 70 ? 4 : label + 11;
  const lines = list.flatMap((one) => [
    `${marks[one.outcome]}  ${one.check.padEnd(label)}  ${one.says}`,
    ...(one.next === undefined ? [] : wrap(`→ ${one.next}`, width, " ".repeat(indent))),
  ]);
  return [...lines, "", healthy ? "This host can run Proctor." : "Mend the problems above, then ask again."].join("\n");
}
