// The docs say what is there: links lead somewhere, examples parse.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorsPage, limitsPage } from "../../scripts/generate-docs.ts";
import { manPage } from "../../scripts/man-page.ts";
import { commandTable } from "../../src/commands/table.ts";
import { projectRoot } from "../support/binary.ts";
import { docPages } from "../support/doc-pages.ts";

test("every link of the docs leads to a file of the project", async () => {
  expect(docPages.length).toBeGreaterThan(20);
  const broken: string[] = [];
  for (const page of docPages) {
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

test("the workflows parse, ask for nothing by default and pin every action by a whole hash", async () => {
  for (const file of [".github/workflows/test.yml", ".github/workflows/release.yml"]) {
    const text = await Bun.file(projectRoot + file).text();
    const flow = Bun.YAML.parse(text) as { permissions: unknown; jobs: Record<string, { permissions: object }> };
    expect(flow.permissions, file).toEqual({});
    for (const job of Object.values(flow.jobs)) expect(job.permissions, file).toBeObject();
    for (const [, at] of text.matchAll(/uses: [^@\s]+@(\S+)/g)) expect(at, file).toMatch(/^[0-9a-f]{40}$/);
  }
});

test("O171 the same suite runs on Linux, macOS and Windows", async () => {
  // biome-ignore lint/suspicious/noExplicitAny: a foreign format, looked into here only.
  const { jobs } = Bun.YAML.parse(await Bun.file(`${projectRoot}.github/workflows/test.yml`).text()) as any;
  const commands = (job: string) => jobs[job].steps.map((step: { run?: string }) => step.run);

  expect(commands("linux")).toContain(".ci/run");
  expect(await Bun.file(`${projectRoot}.ci/run`).text()).toContain("npm test");
  for (const job of ["macos", "windows"]) expect(commands(job), job).toContain("npm test");
});

test("the generated pages are what the tables say: run scripts/generate-docs.ts after changing codes, limits or commands", async () => {
  const page = (path: string) => Bun.file(`${projectRoot}docs/${path}`).text();

  expect(await page("errors.md")).toBe(await errorsPage());
  expect(await page("limits.md")).toBe(await limitsPage());
  expect(await page("man/proctor.1")).toBe(await manPage());
});
