// The relay against a Python relay of our own that reads, parses and flushes frame by frame, in one interleaved run.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { proctorBinary } from "../tests/support/binary.ts";
import { type BenchRow, median, row, spreadOf } from "./measure.ts";

const python = `import json, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
limit = 2 * 1024 * 1024
def move(source, target, close):
    while True:
        frame = source.readline(limit + 1)
        if not frame or len(frame) > limit:
            break
        try:
            json.loads(frame)
        except ValueError:
            pass
        target.write(frame)
        target.flush()
    if close:
        target.close()
worker = threading.Thread(target=move, args=(sys.stdin.buffer, child.stdin, True), daemon=True)
worker.start()
move(child.stdout, sys.stdout.buffer, False)
worker.join(1)
sys.exit(child.wait())
`;
const rounds = 7;
const trips = 400;

function frameOf(bytes: number): string {
  const head = '{"jsonrpc":"2.0","method":"session/update","params":{"text":"';
  return `${head}${"x".repeat(bytes - head.length - 4)}"}}\n`;
}

function start(command: readonly string[]) {
  const env = { PATH: "/usr/bin:/bin", HOME: "/" };
  return Bun.spawn([...command], { env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
}

/** Frames a second through the relay and back, start-up left out by a first frame. */
async function flood(command: readonly string[], frame: { readonly bytes: number; readonly count: number }) {
  const child = start(command);
  const text = frameOf(frame.bytes);
  const reader = child.stdout.getReader();
  child.stdin.write(text);
  await child.stdin.flush();
  for (let seen = 0; seen < text.length; ) seen += (await reader.read()).value?.byteLength ?? text.length;
  const block = Buffer.from(text.repeat(Math.max(1, Math.floor(262_144 / text.length))));
  const total = Math.ceil((frame.count * text.length) / block.length) * block.length;
  const started = performance.now();
  const writing = (async () => {
    for (let sent = 0; sent < total; sent += block.length) {
      child.stdin.write(block);
      await child.stdin.flush();
    }
    await child.stdin.end();
  })();
  for (let seen = 0; seen < total; ) {
    const { done, value } = await reader.read();
    if (done) throw new Error("relay bench: output ended early");
    seen += value.byteLength;
  }
  const elapsedMs = performance.now() - started;
  await writing;
  await child.exited;
  return (total / text.length / elapsedMs) * 1_000;
}

/** Median time of one 200 B frame there and back, in microseconds. */
async function roundTrip(command: readonly string[]) {
  const child = start(command);
  const reader = child.stdout.getReader();
  const text = frameOf(200);
  const times: number[] = [];
  for (let trip = 0; trip < trips; trip += 1) {
    const started = performance.now();
    child.stdin.write(text);
    await child.stdin.flush();
    for (let seen = 0; seen < text.length; ) seen += (await reader.read()).value?.byteLength ?? text.length;
    if (trip >= 50) times.push((performance.now() - started) * 1_000);
  }
  await child.stdin.end();
  await child.exited;
  return median(times);
}

/** The rows of the relay's bars. */
export async function bench(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "proctor-bench-"));
  try {
    const floor = join(folder, "relay.py");
    writeFileSync(floor, python);
    let audits = 0;
    const ours = (): string[] => [proctorBinary, "relay", "--audit", join(folder, `${audits++}.jsonl`), "--", "cat"];
    const theirs = (): string[] => ["/usr/bin/python3", floor, "cat"];
    const small = await interleaved(ours, theirs, (command) => flood(command, { bytes: 200, count: 100_000 }));
    const large = await interleaved(ours, theirs, (command) => flood(command, { bytes: 65_536, count: 2_000 }));
    const trip = await interleaved(ours, theirs, roundTrip);
    return [
      rowOf("relay: frames a second, 200 B", small, { limit: 3, sense: "at least", unit: "/s" }),
      rowOf("relay: frames a second, 64 KiB", large, { limit: 2, sense: "at least", unit: "/s" }),
      rowOf("relay: round trip p50, 200 B", trip, { limit: 1.2, sense: "at most", unit: " us" }),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Pairs {
  readonly ours: number[];
  readonly theirs: number[];
}

async function interleaved(
  ours: () => string[],
  theirs: () => string[],
  measure: (command: readonly string[]) => Promise<number>,
): Promise<Pairs> {
  const pairs: Pairs = { ours: [], theirs: [] };
  for (let round = 0; round < rounds; round += 1) {
    pairs.ours.push(await measure(ours()));
    pairs.theirs.push(await measure(theirs()));
  }
  return pairs;
}

function rowOf(
  bar: string,
  pairs: Pairs,
  how: { readonly limit: number; readonly sense: BenchRow["sense"]; readonly unit: string },
): BenchRow {
  const ratios = pairs.ours.map((one, at) => one / (pairs.theirs[at] ?? one));
  return row({
    bar,
    floor: `own Python relay ${median(pairs.theirs).toFixed(0)}${how.unit}`,
    value: `${median(pairs.ours).toFixed(0)}${how.unit}`,
    ratio: median(ratios),
    limit: how.limit,
    sense: how.sense,
    spread: spreadOf(ratios),
  });
}
