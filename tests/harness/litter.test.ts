import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CensusRecord } from "../../src/harness/census-record.ts";
import { Litter, litterNames } from "../../src/harness/litter.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("Litter removes and lists the three empty folders that came during the run", async () => {
  await using dir = await tempFolder();
  const at = (name: string) => join(dir.path, name);
  const litter = new Litter([dir.path, dir.path]);
  for (const name of litterNames) mkdirSync(at(name));
  mkdirSync(at(".cache"));

  expect(litter.collect()).toEqual([".git", ".codex", ".agents"].map((name) => ({ path: at(name), removed: true })));
  expect(readdirSync(dir.path)).toEqual([".cache"]);
});

test("Litter leaves what was there before, empty or not, even when it is empty only now", async () => {
  await using dir = await tempFolder();
  const at = (name: string) => join(dir.path, name);
  mkdirSync(at(".git"));
  mkdirSync(at(".codex"));
  writeFileSync(at(".codex/config.toml"), "");
  const litter = new Litter([dir.path]);
  rmSync(at(".codex/config.toml"));

  expect(litter.collect()).toEqual([]);
  expect(readdirSync(dir.path).sort()).toEqual([".codex", ".git"]);
});

test("Litter lists a folder with something in it and leaves it, and follows no link", async () => {
  await using dir = await tempFolder();
  const at = (name: string) => join(dir.path, name);
  mkdirSync(at("elsewhere"));
  const litter = new Litter([dir.path]);
  mkdirSync(at(".git"));
  writeFileSync(at(".git/HEAD"), "");
  symlinkSync(at("elsewhere"), at(".codex"));
  writeFileSync(at(".agents"), "");

  expect(litter.collect()).toEqual([{ path: at(".git"), removed: false }]);
  expect(existsSync(at(".git/HEAD")) && existsSync(at("elsewhere")) && existsSync(at(".agents"))).toBe(true);
});

test("the census of a run lists its litter in every folder it is told of", async () => {
  await using one = await tempFolder();
  await using two = await tempFolder();
  const census = new CensusRecord({ live: null, wholeTree: true, litterFolders: [one.path, two.path] });
  mkdirSync(join(two.path, ".agents"));

  expect(census.close().litter).toEqual([{ path: join(two.path, ".agents"), removed: true }]);
});

test("Litter finds nothing where the temporary folder is a file or a name too long", async () => {
  await using dir = await tempFolder();
  writeFileSync(join(dir.path, "file"), "");

  expect(new Litter([join(dir.path, "file"), `/${"n".repeat(300)}`]).collect()).toEqual([]);
});
