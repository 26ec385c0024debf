// Every code block of the docs is run, parsed, or marked as an illustration by the language of its fence.
import { expect, test } from "bun:test";
import { blocksOf, missing, playSession, screenOf, sessionsOf, shapeOf } from "../../scripts/doc-sessions.ts";
import { proctorBinary, projectRoot } from "../support/binary.ts";
import { docPages } from "../support/doc-pages.ts";

const read = (page: string) => Bun.file(projectRoot + page).text();

/** A session may hold a whole acceptance, on a machine that does other things as well. */
const sessionMs = 300_000;

/** What is done with a block of a language; every other language (`text`, `powershell`, …) marks an illustration. */
const tried: Readonly<Record<string, (text: string) => unknown>> = {
  console: (text) => sessionsOf(`\`\`\`console\n${text}\n\`\`\``),
  json: (text) => JSON.parse(text),
  toml: (text) => Bun.TOML.parse(text),
  yaml: (text) => Bun.YAML.parse(text),
  sh: (text) => expect(Bun.spawnSync(["/bin/sh", "-n", "-c", text]).exitCode).toBe(0),
};

test("every block says by its language how it is tried, and what can be parsed parses", async () => {
  for (const page of docPages) {
    for (const { language, line, text } of blocksOf(await read(page))) {
      expect(language, `${page}:${line}`).not.toBe("");
      // An ellipsis marks a shortened sample, which is no whole file any more.
      if (!text.includes("…")) expect(() => tried[language]?.(text), `${page}:${line}`).not.toThrow();
    }
  }
});

for (const page of docPages) {
  for (const session of sessionsOf(await read(page))) {
    const title = `the session of ${page}, line ${session.line}, shows what is printed there`;
    test(title, async () => expect(await playSession(session, proctorBinary)).toBeNull(), sessionMs);
  }
}

test("shapeOf() takes out what differs from run to run and nothing else", () => {
  const digest = "ab12".repeat(16);

  expect(shapeOf("Evidence: /home/you/proctor-20261130T070612Z-5e1c0a")).toBe("Evidence: <run>");
  expect(shapeOf(`Digest  ${digest} (SHA-256)`)).toBe("Digest <digest> (SHA-N)");
  expect(shapeOf("PASSED in 8.0 s")).toBe("PASSED in N s");
  expect(shapeOf("PASSED in 8 m")).not.toBe(shapeOf("PASSED in 8 s"));
});

test("missing() names the first line that was not shown in its place", () => {
  const shown = ["a 1", "b", "noise", "c 3"];

  expect(missing(["a 9", "…", "c 7"], shown)).toBeNull();
  expect(missing(["c 3", "b"], shown)).toBe("b");
  expect(missing(["d"], shown)).toBe("d");
  expect(missing(["no…", "c …"], shown)).toBeNull();
  expect(missing(["c…", "no…"], shown)).toBe("no…");
});

test("screenOf() shows a rewritten line as last written, without escapes", () => {
  expect(screenOf("\r  x 0.1 s\u001b[K\r  x 0.2 s  done\u001b[K\r\nend\r\n")).toEqual(["  x 0.2 s  done", "end", ""]);
});

test("blocksOf() refuses a block without an end, sessionsOf() one that begins with no command", () => {
  expect(() => blocksOf("a\n```text\nb")).toThrow("line 2");
  expect(() => sessionsOf("```console\noutput\n```")).toThrow("begins with a command");
});
