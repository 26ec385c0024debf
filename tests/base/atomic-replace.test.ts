// A file that is replaced is whole at every moment: for a reader beside the writer, and after the writer was killed.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holdsWithin } from "../../src/base/clock.ts";
import { replacePrivateFile } from "../../src/base/private-files.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const strace = Bun.which("strace");
const module = JSON.stringify(`${projectRoot}src/base/private-files.ts`);

/** The system calls of a program that replaces one file; null where tracing is not allowed. */
function traced(folder: string): string[] | null {
  if (strace === null) return null;
  const program = join(folder, "write.ts");
  writeFileSync(program, `import { writePrivateJson } from ${module}; writePrivateJson(process.argv[2], { a: 1 });`);
  const log = join(folder, "trace");
  const calls = "trace=openat,open,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2";
  const words = ["-f", "-y", "-o", log, "-e", calls, process.execPath, program, join(folder, "file.json")];
  const ran = Bun.spawnSync([strace, ...words], { env: { PATH: "/usr/bin:/bin" }, timeout: 60_000 });
  if (ran.exitCode !== 0 || !existsSync(log)) return null;
  return readFileSync(log, "utf8").split("\n");
}

await using tracedFolder = await tempFolder();
replacePrivateFile(join(tracedFolder.path, "file.json"), "old");
const trace = traced(tracedFolder.path);

test.skipIf(trace === null)(
  "the new content is on disk before it takes the old one's name, and the name after it (H042)",
  async () => {
    const lines = trace ?? [];

    const at = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line));
    const written = at(/write(64)?\(\d+<[^>]*file\.json\.tmp>/);
    const synced = at(/fsync\(\d+<[^>]*file\.json\.tmp>/);
    const renamed = at(/rename(at2?)?\(.*file\.json\.tmp.*file\.json"/);
    const folderSynced = lines.findIndex(
      (line, index) => index > renamed && line.includes(`fsync(`) && line.includes(`<${tracedFolder.path}>`),
    );
    expect(at(/file\.json\.tmp", [^)]*O_NOFOLLOW/)).toBeGreaterThanOrEqual(0);
    expect(written).toBeGreaterThanOrEqual(0);
    expect(synced).toBeGreaterThan(written);
    expect(renamed).toBeGreaterThan(synced);
    expect(folderSynced).toBeGreaterThan(renamed);
  },
  120_000,
);

test("a reader beside the writer, and after its kill -9, never sees half a file (H042)", async () => {
  await using dir = await tempFolder();
  const file = join(dir.path, "file.json");
  const program = join(dir.path, "write.ts");
  writeFileSync(
    program,
    `import { writePrivateJson } from ${module};
     for (let n = Number(process.argv[3]); ; n += 1)
       writePrivateJson(process.argv[2], { n, pad: "x".repeat((n % 7) * 30_000), end: n });`,
  );
  const look = () => {
    const { n, pad, end } = JSON.parse(readFileSync(file, "utf8"));
    expect([pad.length, end]).toEqual([(n % 7) * 30_000, n]);
    return n as number;
  };
  replacePrivateFile(file, JSON.stringify({ n: 0, pad: "", end: 0 }));
  let last = 0;
  for (let round = 0; round < 8; round += 1) {
    const child = Bun.spawn([process.execPath, program, file, String(last + 1)], { env: {}, stdin: "ignore" });
    const before = last;
    // Reading all the while, the kill falls wherever the writer is after a different number of files each time.
    const grew = () => {
      last = look();
      return last >= before + 3 + round * 2;
    };
    const grown = await holdsWithin(grew, { withinMs: 60_000, everyMs: 1 });
    child.kill("SIGKILL");
    await child.exited;
    expect(grown).toBe(true);
    last = look();
  }
}, 300_000);
