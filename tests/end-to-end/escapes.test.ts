// A consumer as the field has them: a script that starts the real program, with helpers that left its session. The run
// has to come to an end, to say what it looked at, and to leave none of them; and nobody else's process is touched.
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, readProcess } from "../../src/base/census.ts";
import { Report } from "../../src/contract/report.ts";
import { proctorBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Stays, ignores TERM, keeps the inherited pipes, and makes a file named after its pid. */
const stays = (marks: string) => `trap "" TERM; : >${marks}/$$; while :; do date >>${marks}/alive; sleep 1; done`;

test.if(process.platform === "linux")(
  "accept ends a wrapper's program and helpers in their own sessions, says what it verified, and spares a namesake (B55 B56 O012 O033)",
  async () => {
    await using dir = await tempFolder();
    const marks = join(dir.path, "marks");
    mkdirSync(marks);
    const helper = join(dir.path, "helper");
    writeFileSync(helper, `#!/bin/sh\n${stays(marks)}\n`);
    const codex = join(dir.path, "codex");
    writeFileSync(
      codex,
      `#!/bin/sh
if [ "$1" = --version ]; then echo codex-wrapper 1; exit 0; fi
${helper} & setsid ${helper} & (setsid sh -c "setsid ${helper} &" &) &
while [ $(ls ${marks} | grep -c '^[0-9]') -lt 3 ]; do sleep 0.05; done
exit 0
`,
    );
    for (const path of [helper, codex]) chmodSync(path, 0o700);
    // Somebody else's process with the name of ours.
    const namesake = join(dir.path, "webcodex-server");
    symlinkSync("/bin/sleep", namesake);
    const decoy = Bun.spawn([namesake, "600"], { stdio: ["ignore", "ignore", "ignore"] });
    const decoyRow = readProcess(decoy.pid);
    const output = join(dir.path, "out");

    const words = ["accept", "--json", "--fixture", "typescript", "--codex-path", codex, "--output-dir", output];
    const run = Bun.spawn([proctorBinary, ...words], {
      cwd: dir.path,
      env: { PATH: "/usr/bin:/bin", HOME: dir.path, XDG_STATE_HOME: join(dir.path, "host"), TMPDIR: dir.path },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const report = Report.parse(JSON.parse(await new Response(run.stdout).text()));

    const helpers = readdirSync(marks).filter((name) => /^\d+$/.test(name));
    expect(helpers).toHaveLength(3);
    expect(await run.exited).toBe(1);
    expect(report.consumer).toMatchObject({ passed: false, exit_code: 0 });
    expect(report.census).toMatchObject({ scope: "whole_tree", still_visible: [], listening_ports: [] });
    const started = new Set(report.census?.started.map(({ pid }) => String(pid)));
    expect(helpers.filter((pid) => !started.has(pid))).toEqual([]);
    expect(helpers.filter((pid) => ![undefined, "Z"].includes(readProcess(Number(pid))?.state))).toEqual([]);
    expect(report.cleanup).toMatchObject({ consumer_group_stopped: true, server_stopped: true, runner_stopped: true });

    expect(decoyRow !== null && isAlive(decoyRow)).toBe(true);
    expect(started.has(String(decoy.pid))).toBe(false);
    const { managed, recovery } = report as unknown as { managed: object; recovery: Record<string, number> };
    expect(managed).toMatchObject({ passed: true });
    expect(new Set([recovery["old_server_pid"], recovery["new_server_pid"]].map(String)).isSubsetOf(started)).toBe(
      true,
    );
    const address = JSON.parse(readFileSync(join(output, "private/recovery.json"), "utf8")).url;
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    decoy.kill("SIGKILL");
    await decoy.exited;
  },
  240_000,
);
