// Judges what is still there after clean-up. "Still visible" is a value of its own and never a pass.
import type { Census, Rule } from "../contract/report.ts";
import { ended, passed, type RuleName } from "./rule.ts";

const name = { rule: "leftovers", where: "census.still_visible" } as const satisfies RuleName;

export function judgeLeftovers(census: Census | undefined): Rule {
  if (census === undefined) return ended(name, "leftover_unknown", "no census was taken");
  const { still_visible: visible, listening_ports: ports, litter } = census;
  const left = litter.filter((entry) => !entry.removed).length;
  const fact = `${visible.length} processes, ${ports.length} ports, ${left} folders (${census.scope})`;
  return visible.length + ports.length === 0 ? passed(name, fact) : ended(name, "leftover_processes", fact);
}
