// The deadman as a process of its own, because a subreaper is one for its whole process: a worker that is killed or just
// ends leaves nothing, whatever session its descendants moved to and however fast they multiply.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readProcess } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A front whose worker is this shell script; it prints how the worker ended. */
function front(folder: string, script: string) {
  const program = join(folder, "front.ts");
  writeFileSync(
    program,
    `import { runUnderDeadman } from ${JSON.stringify(`${projectRoot}src/harness/deadman.ts`)};
    const env = { PATH: "/usr/bin:/bin", PIDS: ${JSON.stringify(folder)} };
    const args = ["-c", ${JSON.stringify(script)}];
    console.log(JSON.stringify(await runUnderDeadman({ command: "/bin/sh", args, env, cwd: ${JSON.stringify(folder)} })));`,
  );
  return Bun.spawn([process.execPath, program], {
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Stays, ignores TERM, and says its pid by making a file of that name. */
const stays = `sh -c 'trap "" TERM; : >"$PIDS/pid-$$"; while :; do sleep 60; done'`;

function pidsIn(folder: string): number[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith("pid-"))
    .map((name) => Number(name.slice(4)));
}

function living(pids: readonly number[]): number[] {
  return pids.filter((pid) => ![undefined, "Z"].includes(readProcess(pid)?.state));
}

test.if(process.platform === "linux")(
  "runUnderDeadman() ends descendants in their own sessions, forked twice, and one that ignores TERM (B56)",
  async () => {
    await using dir = await tempFolder();
    const escapes = [
      `${stays} &`,
      `setsid ${stays} &`,
      `(setsid sh -c "setsid ${stays.replaceAll('"', '\\"').replaceAll("$", "\\$")} &" &) &`,
    ];
    const wait = `while [ $(ls "$PIDS" | grep -c ^pid-) -lt 3 ]; do sleep 0.05; done`;
    const child = front(dir.path, `${escapes.join(" ")} ${wait}; exit 5`);

    const said = JSON.parse(await new Response(child.stdout).text());

    expect(pidsIn(dir.path)).toHaveLength(3);
    expect(said.code).toBe(5);
    expect(said.ended).toBeGreaterThanOrEqual(3);
    expect(living(pidsIn(dir.path))).toEqual([]);
  },
  60_000,
);

test.if(process.platform === "linux")(
  "runUnderDeadman() catches a descendant that starts others faster than one look at the process table",
  async () => {
    await using dir = await tempFolder();
    // Each one starts the next in a session of its own and ends: the tree is another one at every look.
    const runner = `n=0; while [ $n -lt 600 ]; do n=$((n+1)); setsid sleep 300 & done`;
    const child = front(dir.path, `setsid sh -c '${runner}' & sleep 0.3; : >"$PIDS/go"; kill -9 $$`);
    expect(await holdsWithin(() => existsSync(join(dir.path, "go")), { withinMs: 30_000 })).toBe(true);

    const said = JSON.parse(await new Response(child.stdout).text());

    expect(said.code).toBeNull();
    const marked = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && ofFolder(name, dir.path));
    expect(marked).toEqual([]);
  },
  120_000,
);

/** Whether a process has this test's folder in its environment; only looked at, never signalled. */
function ofFolder(pid: string, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`PIDS=${folder}`);
  } catch {
    return false; // ended meanwhile
  }
}
