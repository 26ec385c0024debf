import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

test.if(process.platform === "linux")("becomeSubreaper() makes an orphan of our tree our own child (B56)", async () => {
  await using dir = await tempFolder();
  const program = join(dir.path, "parent.ts");
  writeFileSync(
    program,
    `import { becomeSubreaper } from ${JSON.stringify(`${projectRoot}src/base/subreaper.ts`)};
    import { readProcess } from ${JSON.stringify(`${projectRoot}src/base/census.ts`)};
    const became = becomeSubreaper();
    const middle = Bun.spawn(["sh", "-c", "setsid sleep 600 >/dev/null & echo $!"], { stdout: "pipe" });
    const orphan = Number(await new Response(middle.stdout).text());
    await middle.exited;
    const parent = readProcess(orphan)?.ppid;
    process.kill(orphan, "SIGKILL");
    console.log(JSON.stringify([became, parent === process.pid]));`,
  );
  const child = Bun.spawn([process.execPath, program], { env: { PATH: "/usr/bin:/bin" }, stdout: "pipe" });
  expect(await new Response(child.stdout).text()).toBe("[true,true]\n");
  expect(await child.exited).toBe(0);
});
