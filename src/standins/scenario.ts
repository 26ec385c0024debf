// Finds and checks a scenario: a built-in name or a file. A wrong file is told by the first place that is wrong.
import acceptancePython from "../../fixtures/scenarios/acceptance-python.json" with { type: "json" };
import acceptanceTypescript from "../../fixtures/scenarios/acceptance-typescript.json" with { type: "json" };
import { Failure } from "../base/failure.ts";
import { parseJson } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import { visible } from "../base/visible.ts";
import { Scenario } from "../contract/responses.ts";
import type { StandinCode } from "./codes.ts";
import { standinLimits } from "./limits.ts";

const builtIn: Readonly<Record<string, unknown>> = {
  "acceptance-python": acceptancePython,
  "acceptance-typescript": acceptanceTypescript,
};
export const scenarioNames = Object.keys(builtIn);

export type ScenarioVerdict =
  | { readonly valid: true; readonly scenario: Scenario }
  | { readonly valid: false; readonly where: string };

/** Checks a value against the format; `where` names the first wrong place and what is wrong there. */
export function judgeScenario(value: unknown): ScenarioVerdict {
  const parsed = Scenario.safeParse(value);
  if (parsed.success) return { valid: true, scenario: parsed.data };
  const issue = parsed.error.issues[0];
  return { valid: false, where: visible(`${issue?.path.join(".") || "(top)"}: ${issue?.message ?? "wrong"}`) };
}

/** Reads a built-in scenario by name, else a file. */
export function loadScenario(nameOrPath: string): ScenarioVerdict {
  if (Object.hasOwn(builtIn, nameOrPath)) return judgeScenario(builtIn[nameOrPath]);
  let value: unknown;
  try {
    value = parseJson(readRegularFile(nameOrPath, { maxBytes: standinLimits.maxScenarioBytes }));
  } catch (error) {
    throw new Failure<StandinCode>("standin_scenario_unreadable", { cause: error });
  }
  if (value === undefined) throw new Failure<StandinCode>("standin_scenario_unreadable");
  return judgeScenario(value);
}
