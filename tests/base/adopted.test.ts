import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const from = (name: string) => JSON.stringify(`${projectRoot}src/base/${name}.ts`);

/** A subreaper with one dead orphan and one dead child of its own, both not waited for yet. */
const program = `import { reapAdopted } from ${from("adopted")};
import { readProcess } from ${from("census")};
import { startGroup } from ${from("process-group")};
import { becomeSubreaper } from ${from("subreaper")};
becomeSubreaper();
const start = (script) => startGroup({ command: "/bin/sh", args: ["-c", script], cwd: "/", env: {}, stdout: "pipe" });
const middle = start("/bin/sleep 0.2 >/dev/null & echo $!");
const orphan = Number(await new Response(middle.stdout).text());
await middle.exited;
const own = start("exit 7");
// Without a turn of the loop: the runtime has not read the own child's status when the dead are buried.
while (readProcess(orphan)?.state !== "Z" || readProcess(own.pid)?.state !== "Z") Bun.sleepSync(5);
const first = reapAdopted();
const left = [readProcess(orphan), readProcess(own.pid)?.state];
console.log(JSON.stringify([first, left, await own.exited, reapAdopted()]));
process.exit(0);
`;

test.if(process.platform === "linux")(
  "reapAdopted() buries a dead orphan and leaves the own child's exit status to the runtime (B56)",
  async () => {
    await using dir = await tempFolder();
    writeFileSync(join(dir.path, "reaper.ts"), program);
    const child = Bun.spawn([process.execPath, join(dir.path, "reaper.ts")], { env: {}, stdout: "pipe" });
    const printed = JSON.parse(await new Response(child.stdout).text());
    expect(printed).toEqual([1, [null, "Z"], { code: 7, signal: null }, 0]);
  },
);
