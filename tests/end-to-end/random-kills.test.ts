// The small form of `npm run kill-runs`: a kill of each kind at a random moment, looked at by that script's own census.
import { expect, test } from "bun:test";
import { proctorBinary, projectRoot } from "../support/binary.ts";

test.if(process.platform === "linux")(
  "a run killed at a random moment leaves no process, port or file, whether worker, front or both are killed",
  async () => {
    const script = `${projectRoot}scripts/kill-runs.ts`;
    const child = Bun.spawn([process.execPath, script, "--kills", "3", "--json", "--binary", proctorBinary], {
      env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { kills } = JSON.parse(await new Response(child.stdout).text());
    await child.exited;

    // How long it took is the script's business: a loaded machine proves nothing about two seconds.
    expect(kills.map((one: Record<string, unknown>) => one["victim"])).toEqual(["worker", "front", "both"]);
    for (const one of kills)
      expect(one).toMatchObject({
        goneMs: expect.any(Number),
        processesLeft: 0,
        portsLeft: [],
        filesLeft: [],
      });
  },
  480_000,
);
