// A small run of the load bench: thirty good clients, one that reads nothing and one that does all it can, at the same
// time. The whole run is `bun bench/gateway-load.ts`.
import { expect, test } from "bun:test";
import { everybodyAtOnce } from "../../bench/gateway-load.ts";

test("30 clients lose nothing and get it in order beside a stalled and a hostile one", async () => {
  const { messages, faults, alive } = await everybodyAtOnce(1_000);

  expect([faults, alive]).toEqual([0, true]);
  expect(messages).toBeGreaterThanOrEqual(30 * 8);
});
