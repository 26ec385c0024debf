// The catalogue and the stand-ins share names, not imports: every subject of a seat is a name its stand-in knows, and
// every name the stand-in knows is a subject.
import { expect, test } from "bun:test";
import { catalogue, type SeatName } from "../../src/calibrate/catalogue.ts";
import { projectRoot } from "../support/binary.ts";

const tables: ReadonlyArray<readonly [seat: SeatName, file: string, exported: string]> = [
  ["consumer", "src/standins/exec-misbehaviours.ts", "execMisbehaviours"],
  ["agent", "src/standins/agent-misbehaviours.ts", "agentMisbehaviours"],
  ["server", "src/standins/plane-misbehaviours.ts", "planeMisbehaviours"],
  ["runner", "src/standins/runner-misbehaviours.ts", "runnerMisbehaviours"],
];

for (const [seat, file, exported] of tables)
  test(`the ${seat}'s subjects are the names its stand-in knows`, async () => {
    const table = ((await import(projectRoot + file)) as Record<string, object>)[exported] ?? {};
    const names = catalogue.filter((subject) => subject.seat === seat).map((subject) => subject.misbehaviour);
    const known = Object.keys(table).filter((name) => seat === "consumer" || name !== "honest");
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    expect(known.filter((name) => !names.includes(name))).toEqual([]);
  });
