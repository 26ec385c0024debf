// kill -9 of `proctor calibrate` in the middle of a subject: the next command ends what it left running, with the live
// files of its runs, and removes its temporary folder.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type ProcessId } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { selfCommand } from "../../src/base/self.ts";
import { tempFolder } from "../support/temp-folder.ts";

const waitMs = 180_000;

function start(words: readonly string[], folder: string) {
  const { command, args } = selfCommand(words);
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, XDG_STATE_HOME: join(folder, "st"), TMPDIR: folder };
  return Bun.spawn([command, ...args], { cwd: folder, env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
}

const namesIn = (path: string) => (existsSync(path) ? readdirSync(path) : []);

for (const next of [["doctor"], ["calibrate", "--only", "consumer-exit-7"]])
  test(
    `what a killed calibration left is gone after the next ${next[0]}`,
    async () => {
      await using dir = await tempFolder();
      const live = join(dir.path, "st", "proctor", "live");
      const records = () =>
        namesIn(live)
          .filter((name) => name.endsWith(".json"))
          .map((name) => JSON.parse(readFileSync(join(live, name), "utf8")));
      // It hangs on purpose, so the kill comes in the middle of it: services are up, and the run has its own live file.
      const calibration = start(["calibrate", "--only", "agent-hangs", "--json"], dir.path);
      const underWay = () => records().length === 2 && records().some((one) => one.processes.length > 4);
      expect(await holdsWithin(underWay, { withinMs: 90_000, everyMs: 20 })).toBe(true);
      const started: ProcessId[] = records()
        .flatMap((one) => [...one.processes, ...one.owners])
        .map(({ pid, start_ticks }) => ({ pid, startTicks: start_ticks }));
      calibration.kill("SIGKILL");
      await calibration.exited;
      const folders = () => readdirSync(dir.path).filter((name) => name.startsWith("proctor-calibrate-"));
      expect(folders().length).toBe(1);

      const after = start(next, dir.path);
      const said = await new Response(after.stderr).text();
      await after.exited;

      expect(folders()).toEqual([]);
      expect(namesIn(live)).toEqual([]);
      expect(started.filter(isAlive)).toEqual([]);
      if (next[0] === "calibrate") expect(said).toContain("its folder was removed: ");
    },
    waitMs,
  );
