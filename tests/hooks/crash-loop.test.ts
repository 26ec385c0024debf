// The small form of bench/hook-crash.ts: hooks and server are killed at random, and every event is one row.
import { expect, test } from "bun:test";
import { proctorBinary } from "../support/binary.ts";
import { crashLoop } from "./crash-loop.ts";
import { plane } from "./plane.ts";

test("hooks and server killed at random leave each event once and lose no acknowledged save (O101)", async () => {
  await using p = await plane();

  const result = await crashLoop(p, {
    ...{ binary: proctorBinary, sessions: 3, events: 30, kills: 9, restarts: 2, workers: 3, seed: 20_261_130 },
  });

  expect(result).toMatchObject({ rows: 30, distinct: 30, missing: 0, foreign: 0, left: 0, failed: 0, restarts: 2 });
  expect(result.killed).toBeGreaterThan(0);
}, 240_000);
