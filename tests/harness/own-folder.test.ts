// A folder that goes with its owner: whoever finds the owner dead removes that very folder, and nothing else that
// stands under its name.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endDeadRuns } from "../../src/harness/live-file.ts";
import { openOwnFolder } from "../../src/harness/own-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A folder with something in it; its record names an owner that is gone, unless `living`. */
function made(root: string, { living = false } = {}) {
  const state = join(root, "state");
  const own = openOwnFolder(state, { parent: root, prefix: "work" });
  writeFileSync(join(own.path, "file"), "x");
  const [name] = readdirSync(join(state, "live"));
  const record = join(state, "live", name ?? "");
  if (!living) rewrite(record, (value) => Object.assign(value, { owners: [{ pid: process.pid, start_ticks: 1 }] }));
  return { own, state, record };
}

function rewrite(path: string, change: (value: Record<string, unknown>) => unknown): void {
  const value = JSON.parse(readFileSync(path, "utf8"));
  change(value);
  writeFileSync(path, JSON.stringify(value));
}

test("openOwnFolder() makes a private folder and forgets it when it is removed or kept", async () => {
  await using dir = await tempFolder();
  const { own, state } = made(dir.path, { living: true });
  expect(readdirSync(dir.path).sort()).toEqual(["state", own.path.slice(dir.path.length + 1)].sort());
  own.remove();
  expect(existsSync(own.path)).toBe(false);

  const kept = openOwnFolder(state, { parent: dir.path, prefix: "work" });
  kept.keep();
  expect(readdirSync(join(state, "live"))).toEqual([]);
  expect(await endDeadRuns(state)).toEqual([]);
  expect(existsSync(kept.path)).toBe(true);
});

test("endDeadRuns() removes the folder of a dead owner, and leaves that of a living one", async () => {
  await using dir = await tempFolder();
  const dead = made(dir.path);
  const living = openOwnFolder(dead.state, { parent: dir.path, prefix: "work" });

  expect(await endDeadRuns(dead.state)).toMatchObject([{ outputDir: dead.own.path, folderRemoved: true }]);
  expect([existsSync(dead.own.path), existsSync(living.path)]).toEqual([false, true]);
  expect(readdirSync(join(dead.state, "live")).length).toBe(1);
});

test("endDeadRuns() removes nothing that took the folder's place: another folder, a link, a file", async () => {
  for (const put of [
    (path: string) => mkdirSync(path),
    (path: string) => symlinkSync(`${path}.moved`, path),
    (path: string) => writeFileSync(path, "other"),
  ]) {
    await using dir = await tempFolder();
    const { own, state } = made(dir.path);
    renameSync(own.path, `${own.path}.moved`);
    put(own.path);

    expect(await endDeadRuns(state)).toMatchObject([{ folderRemoved: false }]);
    expect(existsSync(own.path)).toBe(true);
    expect(readFileSync(join(`${own.path}.moved`, "file"), "utf8")).toBe("x");
    expect(readdirSync(join(state, "live"))).toEqual([]);
  }
});

test("endDeadRuns() takes a folder whose owner died before it was known only while it is empty", async () => {
  for (const empty of [true, false]) {
    await using dir = await tempFolder();
    const { own, state, record } = made(dir.path);
    const path = join(dir.path, "planned");
    rewrite(record, (value) => Object.assign(value, { folder: { path, device: null, inode: null } }));
    mkdirSync(path);
    if (!empty) writeFileSync(join(path, "file"), "y");

    expect(await endDeadRuns(state)).toMatchObject([{ folderRemoved: empty }]);
    expect([existsSync(path), existsSync(own.path)]).toEqual([!empty, true]);
  }
});
