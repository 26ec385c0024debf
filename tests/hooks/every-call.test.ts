// The hook ended by SIGKILL at each system call that touches its state folder, and each of those calls failing as a full,
// read-only or broken disk fails: a report is either saved or visibly not, and the next run and one flush set it right.
// PROCTOR_EVERY_CALL=1 takes every call; by default every third.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { proctorBinary } from "../support/binary.ts";
import { tracer } from "../support/tracer.ts";
import { acknowledge, type Desk, desk, recordingServer } from "./desk.ts";

const names = [
  "openat",
  "write",
  "pwrite64",
  "fsync",
  "fchmod",
  "close",
  "unlink",
  "rename",
  "getdents64",
  "fstat",
  "flock",
];

const every = process.env.PROCTOR_EVERY_CALL === "1";

/** What this run tries. */
function chosen<T>(points: readonly T[]): T[] {
  return every ? [...points] : points.filter((_, at) => at % 3 === 0);
}

interface Traced {
  readonly code: number | null;
  readonly said: string;
  readonly lines: readonly string[];
}

/** Runs the hook under the tracer, with faults injected or none. */
async function traced(d: Desk, call: string, inject: readonly string[] = []): Promise<Traced> {
  const out = `${d.path}/trace`;
  const watch = [tracer!, "-f", "-y", "-qq", "-o", out, "-e", `trace=${names.join(",")}`, ...inject];
  const child = Bun.spawn([...watch, "--", proctorBinary, "hook", "observe", "--config", d.configPath], {
    ...{ cwd: "/", env: {}, stdin: Buffer.from(d.payload({ tool_use_id: call })), stdout: "ignore", stderr: "pipe" },
  });
  const said = await new Response(child.stderr).text();
  await child.exited;
  return { code: child.exitCode, said, lines: existsSync(out) ? readFileSync(out, "utf8").split("\n") : [] };
}

/** Which call of which name touched the state folder: counted as the tracer counts, by the main thread's own calls. */
function touching(d: Desk, lines: readonly string[]): Array<{ name: string; at: number; line: string }> {
  const main = lines[0]!.split(" ")[0];
  const counts = new Map<string, number>();
  const found: Array<{ name: string; at: number; line: string }> = [];
  for (const line of lines) {
    const [, pid, name] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (pid !== main || name === undefined) continue;
    const at = (counts.get(name) ?? 0) + 1;
    counts.set(name, at);
    if (line.includes(d.state)) found.push({ name, at, line });
  }
  return found;
}

const records = (d: Desk) => readdirSync(d.state).filter((name) => /^[0-9a-f]{64}\./.test(name));

async function plain(d: Desk, words: readonly string[], input = ""): Promise<{ code: number; said: string }> {
  const child = Bun.spawn([proctorBinary, "hook", "observe", "--config", d.configPath, ...words], {
    ...{ cwd: "/", env: {}, stdin: Buffer.from(input), stdout: "pipe", stderr: "ignore" },
  });
  const said = await new Response(child.stdout).text();
  return { code: await child.exited, said };
}

test.skipIf(tracer === null)(
  "killed at any system call on its state folder, a hook loses no report and a replay is the same report (O101, O103)",
  async () => {
    await using server = recordingServer((asked) => acknowledge(asked));
    await using d = await desk(server.url);
    const all = touching(d, (await traced(d, "first")).lines);
    const points = chosen(all);

    let killed = 0;
    for (const [number, { name, at }] of points.entries()) {
      const run = await traced(d, `call-${number}`, ["-e", `inject=${name}:signal=KILL:when=${at}`]);
      if (run.code === 0) continue;
      killed += 1;
      // The host saw no success and sends the same call again.
      const again = await plain(d, ["--json"], d.payload({ tool_use_id: `call-${number}` }));
      expect([name, at, again.code]).toEqual([name, at, 0]);
    }
    const last = await plain(d, ["--flush"]);

    const ids = new Set(server.asked.map((one) => one.body.params["event_id"]));
    expect(all.length).toBeGreaterThan(10);
    expect(killed).toBeGreaterThan(0);
    expect(last.code).toBe(0);
    expect(ids.size).toBe(points.length + 1);
    expect(records(d)).toEqual([]);
  },
  240_000,
);

test.skipIf(tracer === null)(
  "a disk that is full, read-only or broken at any call of a save makes a saved report or a visible refusal (O110)",
  async () => {
    await using server = recordingServer(() => new Response("", { status: 503 }));
    await using d = await desk(server.url);
    const all = touching(d, (await traced(d, "first")).lines).filter(
      ({ name, line }) => ["openat", "write", "fsync", "getdents64"].includes(name) && !line.includes("ledger"),
    );
    const points = chosen(all);
    let refused = 0;

    for (const [number, { name, at }] of points.entries()) {
      const error = ["ENOSPC", "EROFS", "EIO"][number % 3]!;
      const before = records(d).length;
      const run = await traced(d, `call-${number}`, ["-e", `inject=${name}:error=${error}:when=${at}`]);
      const saved = run.said.includes('"saved": true') || run.said.includes('"status": "saved"');
      if (!saved) refused += 1;
      // Nobody answers here, so that every run is incomplete; what differs is whether it claims the save.
      expect([name, at, run.code]).toEqual([name, at, 1]);
      if (saved) expect(records(d).length).toBe(before + 1);
      const again = await plain(d, ["--json"], d.payload({ tool_use_id: `call-${number}` }));
      expect([name, at, again.said]).toEqual([name, at, expect.stringContaining('"saved": true')]);
      expect(records(d).length).toBe(before + 1);
    }

    expect(all.length).toBeGreaterThan(5);
    if (every) expect(refused).toBeGreaterThan(0);
  },
  240_000,
);
