// The table of fault points: it is the one in the docs, and a run that breaks it is told which way.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { faultBreaches, faultOutcomes, faultPoints, faultTableMarkdown } from "../../src/judge/fault-points.ts";
import { factsOf, stream } from "./consumer-subject.ts";
import { auditOf, forced, managedFacts, recoveryFacts } from "./managed-subject.ts";

const facts = (change: { prompts?: (typeof forced)[]; recovery?: Parameters<typeof recoveryFacts>[0] } = {}) => ({
  consumer: factsOf(stream()),
  managed: managedFacts(),
  recovery: recoveryFacts(change.recovery ?? {}),
  audit: auditOf({ prompts: change.prompts ?? [forced] }),
});
const server = { target: "server", point: "after-prompt" } as const;

test("a server ended in flight may be recovered from, an ended runner never gives a pass", () => {
  expect(faultBreaches(server, { outcome: "passed", facts: facts() })).toEqual([]);
  for (const point of faultPoints)
    for (const target of ["runner", "consumer"] as const)
      expect(faultBreaches({ target, point }, { outcome: "passed", facts: facts() })).toContain("illegal_outcome");
});

test("a second prompt, another id and a pass without a prompt are breaches at every point", () => {
  const other = { task_id: "task_1", attempt_id: "attempt_1", run_id: "run_2" };
  for (const point of faultPoints) {
    const fault = { target: "server", point } as const;
    const run = { outcome: "incomplete" as const };
    expect(faultBreaches(fault, { ...run, facts: facts({ prompts: [forced, forced] }) })).toEqual(["second_prompt"]);
    expect(faultBreaches(fault, { ...run, facts: facts({ recovery: { reconciled: other } }) })).toEqual([
      "changed_identity",
    ]);
  }
  expect(faultBreaches(server, { outcome: "passed", facts: facts({ prompts: [] }) })).toEqual(["unearned_pass"]);
  const blind = facts({ recovery: { reconciled: null, reconciled_at_end: null } });
  expect(faultBreaches(server, { outcome: "passed", facts: blind })).toEqual(["unearned_pass"]);
});

test("uncertain is legal wherever a process can be ended", () => {
  for (const row of Object.values(faultOutcomes))
    for (const outcomes of Object.values(row)) expect(outcomes).toContain("incomplete");
});

test("the table in the docs is this one", () => {
  const docs = readFileSync(new URL("../../docs/report.md", import.meta.url), "utf8");
  expect(docs).toContain(faultTableMarkdown());
});
