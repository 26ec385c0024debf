// A few subjects as whole processes, from source: a control plane, a runner and a consumer that are each wrong in one
// way, refused and blamed as the catalogue says. CI runs the whole catalogue with the built executable.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { selfCommand } from "../../src/base/self.ts";
import { calibrate } from "../../src/calibrate/run.ts";
import { tempFolder } from "../support/temp-folder.ts";

for (const only of ["server-redispatches-on-replay", "runner-prompts-twice", "consumer-leaves-daemon"])
  test(`${only} is refused and blamed as the catalogue says`, async () => {
    await using dir = await tempFolder();
    const environment = {
      PATH: process.env["PATH"] ?? "",
      HOME: dir.path,
      XDG_STATE_HOME: join(dir.path, "state"),
      TMPDIR: dir.path,
    };

    const { results } = await calibrate({ self: selfCommand, environment, folder: dir.path, only });

    expect(results.map(({ seen }) => seen)).toEqual(results.map(({ expected }) => expected));
  }, 120_000);
