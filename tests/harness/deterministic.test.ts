// The seed's deterministic tests: they exist by row, start no service and use no account, and the docs say what they
// cannot prove.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { projectRoot } from "../support/binary.ts";

const files = [
  "tests/harness/observation.test.ts",
  "tests/judge/recovery.test.ts",
  "tests/judge/promises.test.ts",
  "tests/judge/consumer.test.ts",
  "tests/judge/managed.test.ts",
  "tests/judge/verdict.test.ts",
];
const text = (path: string) => readFileSync(`${projectRoot}${path}`, "utf8");

test("waiting for proof of execution, exact ids, the end before a prompt, terminal and uncertain ends, cursor, lost history and bounded waits are covered without any service (O035 O036 O037 O038 O039 O040 O041)", () => {
  const sources = files.map(text);
  for (const row of ["O035", "O036", "O037", "O038", "O039", "O040", "O041", "O020"])
    expect(
      sources.some((source) => new RegExp(`^\\s*test\\(?"?.*\\b${row}\\b|^\\s*".*\\b${row}\\b`, "m").test(source)),
    ).toBe(true);
  for (const source of sources) {
    for (const way of [
      "Bun.spawn",
      "Bun.serve",
      "Bun.listen",
      "fetch(",
      "startGroup",
      "runProgram",
      "selfCommand",
      "proctorBinary",
    ])
      expect(source).not.toContain(way);
    expect(source).not.toMatch(/process\.env|homeFolder|CODEX_HOME/);
  }
});

test("the docs say that these tests prove no real model, restart or host continuation (O042)", () => {
  const page = text("docs/acceptance-log.md").replace(/\s+/g, " ");
  expect(page).toContain("prove nothing about a real model, a real restart or a continued conversation of a host");
});
