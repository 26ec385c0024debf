// The docs say what is there: links lead somewhere, examples parse.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { commandTable } from "../../src/commands/table.ts";
import { projectRoot } from "../support/binary.ts";

const pages = [...new Glob("{*.md,docs/**/*.md}").scanSync({ cwd: projectRoot })].sort();

test("every link of the docs leads to a file of the project", async () => {
  const broken: string[] = [];
  for (const page of pages) {
    const text = await Bun.file(projectRoot + page).text();
    for (const [, target] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      if (!existsSync(join(projectRoot, dirname(page), target!))) broken.push(`${page} → ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

test("the README names only commands that exist, and stays under 200 lines", async () => {
  const text = await Bun.file(`${projectRoot}README.md`).text();

  for (const [, name] of text.matchAll(/`(?:\.\/|dist\/)?proctor ([a-z][a-z-]*)/g))
    expect(Object.keys(commandTable)).toContain(name!);
  expect(text.split("\n").length).toBeLessThan(200);
});

test("the example files parse", async () => {
  for (const file of [
    "examples/github-matrix.yml",
    "examples/kubernetes-job.yaml",
    ".github/workflows/test.yml",
    ".github/workflows/release.yml",
  ]) {
    const value = Bun.YAML.parse(await Bun.file(projectRoot + file).text());
    expect(value, file).toBeObject();
  }
});
