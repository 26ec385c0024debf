// A write into a project lies among files that are not ours: nothing beside the target is touched.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../src/base/bytes.ts";
import { type RegisteredProject, writeProjectFile } from "../../src/runner/project-files.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("writeProjectFile() leaves a project's own file alone that is named as the target and .tmp", async () => {
  await using dir = await tempFolder();
  writeFileSync(join(dir.path, "page"), "old");
  writeFileSync(join(dir.path, "page.tmp"), "the project's own");
  const project = { root: realpathSync(dir.path), allow_patch: true, disabled: false } as unknown as RegisteredProject;

  const answer = writeProjectFile(project, { path: "page", text: "new", expected: sha256Hex("old") });

  expect(answer).toEqual({ file: { path: "page", sha256: sha256Hex("new") } });
  expect(readFileSync(join(dir.path, "page"), "utf8")).toBe("new");
  expect(readFileSync(join(dir.path, "page.tmp"), "utf8")).toBe("the project's own");
  expect(readdirSync(dir.path).sort()).toEqual(["page", "page.tmp"]);
});
