// The calibration catalogue and the stand-ins meet by name only: every subject must be a name that its stand-in knows,
// and each name must say what it does.
import { expect, test } from "bun:test";
import { catalogue } from "../../src/calibrate/catalogue.ts";
import { misbehaviours } from "../../src/standins/misbehaviours.ts";

test("every subject of the catalogue is a misbehaviour that its stand-in knows", () => {
  const known = new Set(misbehaviours.map((one) => `${one.seat}-${one.id}`));

  const unknown = catalogue.map((one) => one.id);

  expect(unknown.filter((id) => !known.has(id))).toEqual([]);
});

test("misbehaviours name each way once for a seat and say what it does", () => {
  const names = misbehaviours.map((one) => `${one.seat} ${one.id}`);

  expect(new Set(names).size).toBe(names.length);
  expect(misbehaviours.filter((one) => one.does === "")).toEqual([]);
});
