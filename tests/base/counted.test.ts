import { expect, test } from "bun:test";
import { counted } from "../../src/base/counted.ts";

test("counted() has one word for one thing and another for none or many", () => {
  expect([0, 1, 2].map((count) => counted(count, "prompt"))).toEqual(["0 prompts", "1 prompt", "2 prompts"]);
  expect([1, 3].map((count) => counted(count, "identity", "identities"))).toEqual(["1 identity", "3 identities"]);
});
