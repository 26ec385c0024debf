// The relay against a Python relay of our own that reads, parses and flushes frame by frame, in one interleaved run;
// and how much it takes from a client whose adapter never reads.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BenchRow, inFolder, median, proctor, row, spreadOf } from "./measure.ts";
import { RelayWire } from "./relay-wire.ts";

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
const rounds = 9;
/** No further round is begun after this. */
const budgetMs = 30_000;
const offeredBytes = 64 * 1024 * 1024;

const loads = [
  { bar: "relay: frames a second, 200 B", bytes: 200, count: 40_000, limit: 3, sense: "at least" },
  { bar: "relay: frames a second, 64 KiB", bytes: 65_536, count: 1_000, limit: 2, sense: "at least" },
  { bar: "relay: round trip p50, 200 B", bytes: 200, trips: 1_500, limit: 1.2, sense: "at most" },
] as const;
type Load = (typeof loads)[number];

interface Pairs {
  readonly ours: number[];
  readonly theirs: number[];
}

/** The rows of the relay's bars. */
export async function bench(): Promise<BenchRow[]> {
  return await inFolder(async (folder) => {
    const floor = join(folder, "relay.py");
    writeFileSync(floor, python);
    const interpreter = realPython();
    let audits = 0;
    const ours = (...adapter: string[]): string[] => [
      proctor,
      "relay",
      "--audit",
      join(folder, `${audits++}.jsonl`),
      "--",
      ...adapter,
    ];
    const pairs = loads.map((): Pairs => ({ ours: [], theirs: [] }));
    const started = performance.now();
    for (let round = 0; round < rounds && performance.now() - started < budgetMs; round += 1) {
      for (const [at, load] of loads.entries()) {
        pairs[at]!.ours.push(await measure(ours("cat"), load));
        pairs[at]!.theirs.push(await measure([interpreter, floor, "cat"], load));
      }
    }
    return [...loads.map((load, at) => rowOf(load, pairs[at]!)), await stalled(ours("sleep", "600"))];
  });
}

/** Frames a second there and back, or the median round trip in microseconds; start-up is left out by a first frame. */
async function measure(command: readonly string[], load: Load): Promise<number> {
  const frame = frameOf(load.bytes);
  const wire = new RelayWire(command);
  let figure: number;
  if ("trips" in load) {
    for (let trip = 0; trip < 200; trip += 1) wire.exchange(frame, frame.byteLength);
    const times = Array.from({ length: load.trips }, () => wire.exchange(frame, frame.byteLength) * 1_000);
    figure = median(times);
  } else {
    wire.exchange(frame, frame.byteLength);
    const block = Buffer.concat(Array.from({ length: Math.ceil(262_144 / load.bytes) }, () => frame));
    figure = (load.count / wire.exchange(block, load.count * load.bytes)) * 1_000;
  }
  await wire.end();
  return figure;
}

async function stalled(command: readonly string[]): Promise<BenchRow> {
  const wire = new RelayWire(command);
  const taken = wire.push(Buffer.concat(Array.from({ length: 1_000 }, () => frameOf(200))), offeredBytes);
  await wire.end("SIGTERM");
  return row({
    bar: "relay: taken for an adapter that never reads",
    floor: `${offeredBytes / 1_048_576} MiB offered`,
    value: `${(taken / 1_048_576).toFixed(2)} MiB`,
    ratio: taken / offeredBytes,
    limit: 0.1,
    sense: "at most",
    spread: "one run",
  });
}

function frameOf(bytes: number): Buffer {
  const head = '{"jsonrpc":"2.0","method":"session/update","params":{"text":"';
  return Buffer.from(`${head}${"x".repeat(bytes - head.length - 4)}"}}\n`);
}

/** The interpreter itself: a version manager's launcher would be measured instead of it. */
function realPython(): string {
  const asked = Bun.spawnSync(["python3", "-c", "import sys;print(sys.executable)"], { stderr: "ignore" });
  const path = asked.stdout.toString().trim();
  if (asked.exitCode !== 0 || path === "") throw new Error("the relay's bench needs python3");
  return path;
}

function rowOf(load: Load, pairs: Pairs): BenchRow {
  const unit = "trips" in load ? " us" : "/s";
  const ratios = pairs.ours.map((one, at) => one / (pairs.theirs[at] ?? one));
  return row({
    bar: load.bar,
    floor: `own Python relay, ${median(pairs.theirs).toFixed(0)}${unit}`,
    value: `${median(pairs.ours).toFixed(0)}${unit}`,
    ratio: median(ratios),
    limit: load.limit,
    sense: load.sense,
    spread: spreadOf(ratios),
  });
}
