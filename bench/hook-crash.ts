// The crash loop of the hooks: 2,000 events in 8 Sessions with a configuration and a state folder each, 200 hooks
// ended by kill -9 at random moments, the server killed and started again ten times. Ends 0 when every event is
// exactly one row.
//   bun bench/hook-crash.ts [SEED]
import { crashLoop } from "../tests/hooks/crash-loop.ts";
import { plane } from "../tests/hooks/plane.ts";
import { proctor } from "./measure.ts";

const seed = Number(process.argv[2] ?? Date.now() % 1_000_000_000);
const plan = { binary: proctor, sessions: 8, events: 2_000, kills: 200, restarts: 10, workers: 4, seed };
const started = performance.now();
await using p = await plane();
const result = await crashLoop(p, plan);
const whole =
  result.rows === plan.events &&
  result.distinct === plan.events &&
  result.missing + result.foreign + result.left + result.failed === 0;
const seconds = Math.round((performance.now() - started) / 1000);
process.stdout.write(`${JSON.stringify({ whole, seed, seconds, ...result })}\n`);
process.exitCode = whole ? 0 : 1;
