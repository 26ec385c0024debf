// The calibration catalogue and the stand-ins meet by name only: every consumer and agent subject must be a name
// that the stand-in knows, and each name must say what it does.
import { expect, test } from "bun:test";
import { catalogue } from "../../src/calibrate/catalogue.ts";
import { misbehaviours } from "../../src/standins/misbehaviours.ts";

test("every consumer and agent of the catalogue is a misbehaviour that the stand-in knows", () => {
  const known = new Set(misbehaviours.map((one) => `${one.seat}-${one.id}`));

  const unknown = catalogue.filter((one) => one.seat === "consumer" || one.seat === "agent").map((one) => one.id);

  expect(unknown.filter((id) => !known.has(id))).toEqual([]);
});

test("misbehaviours name each way once for a seat and say what it does", () => {
  const names = misbehaviours.map((one) => `${one.seat} ${one.id}`);

  expect(new Set(names).size).toBe(names.length);
  expect(misbehaviours.filter((one) => one.does === "")).toEqual([]);
});
