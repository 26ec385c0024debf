// A small run of the fuzz bench: mutated heads, frames and messages against a gateway in a process of its own. The whole
// run is `bun bench/gateway-fuzz.ts`.
import { expect, test } from "bun:test";
import { fuzz } from "../../bench/gateway-fuzz.ts";

test("150,000 mutated bytes crash nothing, and a good client is served all along", async () => {
  const result = await fuzz({ bytes: 150_000, seed: 7 });

  expect(result.bytes).toBeGreaterThanOrEqual(150_000);
  expect(result.healthChecks).toBeGreaterThan(0);
  expect(result.rssAfterKb).toBeLessThan(400 * 1024);
});
