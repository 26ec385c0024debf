// The table of fault points: it is the one in the docs, and a run that breaks it is told which way.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import {
  allFaults,
  faultBreaches,
  faultOutcomes,
  faultPoints,
  faultTableMarkdown,
  parseFault,
} from "../../src/judge/fault-points.ts";
import { factsOf, stream } from "./consumer-subject.ts";
import { auditOf, forced, managedFacts, recoveryFacts } from "./managed-subject.ts";

const facts = (change: { prompts?: (typeof forced)[]; recovery?: Parameters<typeof recoveryFacts>[0] } = {}) => ({
  consumer: factsOf(stream()),
  managed: managedFacts(),
  recovery: recoveryFacts(change.recovery ?? {}),
  audit: auditOf({ prompts: change.prompts ?? [forced] }),
});
const server = { target: "server", point: "after_prompt_barrier", fired: true } as const;

test("a server ended in flight may be recovered from, an ended runner never gives a pass", () => {
  expect(faultBreaches(server, { outcome: "passed", facts: facts() })).toEqual([]);
  for (const point of faultPoints) {
    const passed = { outcome: "passed", facts: facts() } as const;
    expect(faultBreaches({ target: "consumer", point, fired: true }, passed)).toEqual(["illegal_outcome"]);
    const told = point === "after_terminal" ? [] : ["illegal_outcome"];
    expect(faultBreaches({ target: "runner", point, fired: true }, passed)).toEqual(told as never[]);
  }
});

test("a second prompt, another id and a pass without a prompt are breaches at every point", () => {
  const other = { task_id: "task_1", attempt_id: "attempt_1", run_id: "run_2" };
  for (const point of faultPoints) {
    const fault = { target: "server", point, fired: true } as const;
    const run = { outcome: "passed" as const };
    expect(faultBreaches(fault, { ...run, facts: facts({ prompts: [forced, forced] }) })).toContain("second_prompt");
    expect(faultBreaches(fault, { ...run, facts: facts({ recovery: { reconciled: other } }) })).toContain(
      "changed_identity",
    );
  }
  expect(faultBreaches(server, { outcome: "passed", facts: facts({ prompts: [] }) })).toEqual(["unearned_pass"]);
  const blind = facts({ recovery: { reconciled: null, reconciled_at_end: null } });
  expect(faultBreaches(server, { outcome: "passed", facts: blind })).toEqual(["unearned_pass"]);
});

test("a fault that was not reached is no evidence, whatever came of the run", () => {
  expect(faultBreaches({ ...server, fired: false }, { outcome: "passed", facts: facts() })).toEqual([
    "fault_not_reached",
  ]);
});

test("after its prompt an adapter's end is uncertain, never a failure of the work", () => {
  for (const point of ["after_prompt_barrier", "before_terminal"] as const)
    expect(faultOutcomes.adapter[point]).not.toContain("failed");
});

test("the command line's words name every fault and nothing else", () => {
  for (const one of allFaults) expect(parseFault(`${one.point}:${one.signal}:${one.target}`)).toEqual(one);
  expect(allFaults).toHaveLength(30);
  expect(parseFault("after_bind:SIGINT")).toEqual({ point: "after_bind", signal: "SIGINT", target: "server" });
  for (const wrong of [
    "",
    "after_bind",
    "after_bind:SIGTERM",
    "after_bind:SIGINT:runner",
    "x:SIGKILL",
    "after_bind:SIGKILL:server:x",
  ])
    expect(parseFault(wrong)).toBeNull();
});

test("the table in the docs is this one", () => {
  const docs = readFileSync(new URL("../../docs/report.md", import.meta.url), "utf8");
  expect(docs).toContain(faultTableMarkdown());
});
