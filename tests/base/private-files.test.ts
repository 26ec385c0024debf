// Private files under hostile conditions: other umasks, links of both kinds, wrong modes, limits.
import { afterEach, expect, test } from "bun:test";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { sha256Hex } from "../../src/base/bytes.ts";
import {
  checkPrivateFolder,
  createPrivateFile,
  createPrivateFolder,
  ensurePrivateFolder,
  openPrivateLog,
  readPrivateFile,
  readRegularFile,
  removeIfPresent,
  replacePrivateFile,
  syncFolder,
  writePrivateJson,
} from "../../src/base/private-files.ts";
import { tempFolder } from "../support/temp-folder.ts";

const umask = process.umask();
afterEach(() => {
  process.umask(umask);
});

const mode = (path: string) => statSync(path).mode & 0o777;

test("private files and folders are born 0600 and 0700 whatever the umask", async () => {
  await using dir = await tempFolder();
  for (const mask of [0, 0o022, 0o277]) {
    const base = `${dir.path}/${mask}`;
    process.umask(mask);
    createPrivateFolder(base);
    createPrivateFile(`${base}/file`, "x");
    replacePrivateFile(`${base}/replaced`, "y");
    const { closeSync } = await import("node:fs");
    closeSync(openPrivateLog(`${base}/log`));
    process.umask(umask);

    expect([mode(base), mode(`${base}/file`), mode(`${base}/replaced`), mode(`${base}/log`)]).toEqual([
      0o700, 0o600, 0o600, 0o600,
    ]);
  }
});

test("readPrivateFile() takes only an own regular file with one link and no rights for others (O081, O086, O088)", async () => {
  await using dir = await tempFolder();
  const path = `${dir.path}/file`;
  createPrivateFile(path, "hello");
  const read = (at: string) => readPrivateFile(at, { maxBytes: 100 });

  expect(Buffer.from(read(path)).toString()).toBe("hello");
  for (const wrong of [0o640, 0o644, 0o604, 0o660]) {
    chmodSync(path, wrong);
    expect(() => read(path)).toThrow("private_regular_file_required");
  }
  chmodSync(path, 0o600);
  symlinkSync(path, `${dir.path}/link`);
  mkdirSync(`${dir.path}/folder`, { mode: 0o700 });
  Bun.spawnSync(["mkfifo", "-m", "600", `${dir.path}/pipe`]);
  for (const name of ["link", "folder", "pipe"]) {
    expect(() => read(`${dir.path}/${name}`)).toThrow("private_regular_file_required");
  }
  linkSync(path, `${dir.path}/second`);
  expect(() => read(path)).toThrow("private_regular_file_required");
  expect(() => read(`${dir.path}/none`)).toThrow("private_file_missing");
});

test("reading stops at the limit: the limit is read, one byte more is refused", async () => {
  await using dir = await tempFolder();
  for (const length of [0, 9, 10]) {
    createPrivateFile(`${dir.path}/${length}`, "x".repeat(length));
    expect(readPrivateFile(`${dir.path}/${length}`, { maxBytes: 10 }).length).toBe(length);
  }
  createPrivateFile(`${dir.path}/11`, "x".repeat(11));
  expect(() => readPrivateFile(`${dir.path}/11`, { maxBytes: 10 })).toThrow("private_file_too_large");
  expect(() => readRegularFile(`${dir.path}/11`, { maxBytes: 10 })).toThrow("private_file_too_large");
});

test("readRegularFile() takes any mode and second links, and no symlink", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/open`, "x", { mode: 0o644 });
  linkSync(`${dir.path}/open`, `${dir.path}/second`);
  symlinkSync(`${dir.path}/open`, `${dir.path}/link`);

  expect(readRegularFile(`${dir.path}/open`, { maxBytes: 1 }).length).toBe(1);
  expect(() => readRegularFile(`${dir.path}/link`, { maxBytes: 1 })).toThrow("regular_file_required");
});

test("createPrivateFile() never writes into what is there, link or file", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/victim`, "kept");
  symlinkSync(`${dir.path}/victim`, `${dir.path}/link`);
  symlinkSync(`${dir.path}/nowhere`, `${dir.path}/dangling`);

  for (const name of ["victim", "link", "dangling"]) {
    expect(() => createPrivateFile(`${dir.path}/${name}`, "x")).toThrow("private_file_exists");
    expect(() => openPrivateLog(`${dir.path}/${name}`)).toThrow("private_file_exists");
  }
  expect(readFileSync(`${dir.path}/victim`, "utf8")).toBe("kept");
  expect(readdirSync(dir.path).sort()).toEqual(["dangling", "link", "victim"]);
});

test("replacePrivateFile() replaces whole, leaves no temporary file and refuses a planted one (H041)", async () => {
  await using dir = await tempFolder();
  const modeOf = (name: string) => lstatSync(`${dir.path}/${name}`).mode & 0o777;
  writeFileSync(`${dir.path}/victim`, "kept");
  for (const plant of [
    () => symlinkSync(`${dir.path}/victim`, `${dir.path}/file.tmp`),
    () => symlinkSync(`${dir.path}/nowhere`, `${dir.path}/file.tmp`),
    () => mkdirSync(`${dir.path}/file.tmp`),
  ]) {
    plant();
    expect(() => replacePrivateFile(`${dir.path}/file`, "one")).toThrow("private_regular_file_required");
    expect(readdirSync(dir.path).sort()).toEqual(["file.tmp", "victim"]);
    expect(readFileSync(`${dir.path}/victim`, "utf8")).toBe("kept");
    rmSync(`${dir.path}/file.tmp`, { recursive: true });
  }
  // A longer file that a dead writer left, readable by others, gives nothing of itself to the new one.
  writeFileSync(`${dir.path}/file.tmp`, "x".repeat(100), { mode: 0o644 });

  replacePrivateFile(`${dir.path}/file`, "one");
  expect([readFileSync(`${dir.path}/file`, "utf8"), modeOf("file")]).toEqual(["one", 0o600]);
  replacePrivateFile(`${dir.path}/file`, "one");
  writePrivateJson(`${dir.path}/file`, { two: 2 });

  expect(readFileSync(`${dir.path}/file`, "utf8")).toBe('{\n  "two": 2\n}\n');
  expect(readFileSync(`${dir.path}/victim`, "utf8")).toBe("kept");
  expect(readdirSync(dir.path).sort()).toEqual(["file", "victim"]);
  mkdirSync(`${dir.path}/folder`);
  expect(() => replacePrivateFile(`${dir.path}/folder`, "x")).toThrow("private_file_unwritable");
  expect(readdirSync(dir.path).sort()).toEqual(["file", "folder", "victim"]);
});

test("replacePrivateFile() among others' files takes a name no person gives, the same for each target", async () => {
  await using dir = await tempFolder();
  const reserved = { reserved: ".proctor-" } as const;
  const target = `${dir.path}/${"p".repeat(255)}`;
  const between = `${dir.path}/.proctor-${sha256Hex("p".repeat(255)).slice(0, 32)}.tmp`;
  writeFileSync(`${dir.path}/victim`, "kept");
  symlinkSync(`${dir.path}/victim`, between);
  expect(() => replacePrivateFile(target, "one", reserved)).toThrow("private_regular_file_required");
  rmSync(between);
  writeFileSync(between, "left by a dead writer");
  writeFileSync(`${dir.path}/page.tmp`, "a person's own");

  replacePrivateFile(target, "one", reserved);
  replacePrivateFile(`${dir.path}/page`, "two", reserved);

  expect([readFileSync(target, "utf8"), readFileSync(`${dir.path}/page`, "utf8")]).toEqual(["one", "two"]);
  expect(readFileSync(`${dir.path}/page.tmp`, "utf8")).toBe("a person's own");
  expect(readFileSync(`${dir.path}/victim`, "utf8")).toBe("kept");
  expect(readdirSync(dir.path).sort()).toEqual(["page", "page.tmp", "p".repeat(255), "victim"]);
});

test("folders must be own, 0700 and no link", async () => {
  await using dir = await tempFolder();
  createPrivateFolder(`${dir.path}/own`);
  symlinkSync(`${dir.path}/own`, `${dir.path}/link`);
  writeFileSync(`${dir.path}/file`, "");

  expect(() => ensurePrivateFolder(`${dir.path}/own`)).not.toThrow();
  expect(() => createPrivateFolder(`${dir.path}/own`)).toThrow("private_file_exists");
  expect(() => createPrivateFolder(`${dir.path}/a/b`)).toThrow("private_file_unwritable");
  expect(() => checkPrivateFolder(`${dir.path}/none`)).toThrow("private_file_missing");
  for (const name of ["link", "file"]) {
    expect(() => ensurePrivateFolder(`${dir.path}/${name}`)).toThrow("private_folder_required");
  }
  chmodSync(`${dir.path}/own`, 0o750);
  expect(() => checkPrivateFolder(`${dir.path}/own`)).toThrow("private_folder_required");
});

test("removeIfPresent() removes the link and not what it points to", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/victim`, "kept");
  symlinkSync(`${dir.path}/victim`, `${dir.path}/link`);

  expect([removeIfPresent(`${dir.path}/link`), removeIfPresent(`${dir.path}/link`)]).toEqual([true, false]);
  expect(readFileSync(`${dir.path}/victim`, "utf8")).toBe("kept");
});

/** Runs statements on the module in a process that may write files of 512 bytes and no more. */
function withLittleRoom(folder: string, statements: string): string {
  const source = `import * as files from ${JSON.stringify(`${import.meta.dir}/../../src/base/private-files.ts`)};
    const tried = (work: () => void) => { try { work(); console.log("done"); } catch (error) { console.log(error.code); } };
    ${statements}`;
  writeFileSync(`${folder}.ts`, source);
  const script = `trap "" XFSZ; ulimit -f 1; exec "$BUN" "$0"`;
  const child = Bun.spawnSync(["sh", "-c", script, `${folder}.ts`], {
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", BUN: process.execPath },
  });
  return child.stdout.toString();
}

test("a write that ends short on a full disk leaves neither half a file nor a temporary one", async () => {
  await using outer = await tempFolder();
  const folder = `${outer.path}/room`;
  createPrivateFolder(folder);
  createPrivateFile(`${folder}/old`, "old");

  const said = withLittleRoom(
    folder,
    `tried(() => files.createPrivateFile("new", "x".repeat(5_000)));
     tried(() => files.replacePrivateFile("old", "y".repeat(5_000)));
     tried(() => files.replacePrivateFile("old", "z".repeat(500)));`,
  );

  expect(said).toBe("private_file_unwritable\nprivate_file_unwritable\ndone\n");
  expect(readdirSync(folder)).toEqual(["old"]);
  expect(readFileSync(`${folder}/old`, "utf8")).toBe("z".repeat(500));
});

test("syncFolder() fails with a code where there is no folder", async () => {
  await using dir = await tempFolder();
  expect(() => syncFolder(`${dir.path}/none`)).toThrow("private_file_unwritable");
});
