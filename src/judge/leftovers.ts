// Judges what is still there after clean-up. "Still visible" is a value of its own and never a pass.
import { counted } from "../base/counted.ts";
import type { Census, Rule } from "../contract/report.ts";
import { ended, passed, type RuleName } from "./rule.ts";

const name = { rule: "leftovers", where: "census.still_visible" } as const satisfies RuleName;

/** What clean-up itself saw end; false is said there for anything still visible. */
const stops = ["consumer_group_stopped", "runner_stopped", "server_stopped"] as const;

export function judgeLeftovers(census: Census | undefined, cleanup: Readonly<Record<string, unknown>> = {}): Rule {
  if (census === undefined) return ended(name, "leftover_unknown", "no census was taken");
  const { still_visible: visible, listening_ports: ports, litter } = census;
  const left = litter.filter((entry) => !entry.removed).length;
  const lasting = stops.filter((stop) => cleanup[stop] === false);
  const said = lasting.length === 0 ? "" : `, ${lasting.join(", ")}: no`;
  const fact = `${counted(visible.length, "process", "processes")}, ${counted(ports.length, "port")}, ${counted(left, "folder")} (${census.scope})${said}`;
  const none = visible.length + ports.length + lasting.length === 0;
  return none ? passed(name, fact) : ended(name, "leftover_processes", fact);
}
