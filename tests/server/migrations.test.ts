// Databases of every earlier version open, keep their rows, and end with the shape of a new one. Never the other way.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate, migrations } from "../../src/server/migrations.ts";
import { openStore } from "../../src/server/store.ts";
import { tempFolder } from "../support/temp-folder.ts";

function shapeOf(db: Database): unknown[] {
  return db.query("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all();
}

/** One row for each table that step 1 and step 2 know. */
const rows: ReadonlyArray<readonly [number, string]> = [
  [1, "INSERT INTO users VALUES ('wc_user_a', 'ann', NULL, 'user', NULL, 1, 1)"],
  [1, "INSERT INTO tokens VALUES ('t', 'd', 'p', 'pat', 'n', 'wc_user_a', '', NULL, 1, NULL, NULL)"],
  [2, "INSERT INTO sessions VALUES ('wc_sess_a', 1, 'o', 'p', 't', 'normal', 'active', 1, 1)"],
  [2, "INSERT INTO external_observations VALUES ('wc_sess_a', 'a', 'e', 'p', 'Bash', NULL, 1)"],
  [3, "INSERT INTO goals VALUES ('g', 'o', 't', 'b', 'active', 1, '{}', NULL, NULL, 1, 1, NULL)"],
  [4, "INSERT INTO memories VALUES ('o', 'p', 'k', 'v', 1, 's', 1, 1)"],
  [10, "INSERT INTO agent_identities VALUES ('a', 'o', 'h', 'd', '', '[]', 1)"],
];

for (const { version } of migrations) {
  test(`a database of schema ${version} is brought to the newest shape with every row kept`, async () => {
    await using dir = await tempFolder();
    const old = new Database(`${dir.path}/old.sqlite`, { create: true, strict: true });
    migrate(old, 1, version);
    const kept = rows.filter(([since]) => since <= version);
    for (const [, sql] of kept) old.run(sql);
    const tables = kept.map(([, sql]) => sql.split(" ")[2]!);
    const before = tables.map((table) => old.query(`SELECT * FROM ${table}`).all());
    old.close();

    const opened = openStore(`${dir.path}/old.sqlite`, { wallMs: 2 });
    const fresh = openStore(`${dir.path}/fresh.sqlite`, { wallMs: 2 });
    const shapes = [await opened.read(shapeOf), await fresh.read(shapeOf)];
    const after = await opened.read((db) => tables.map((table) => db.query(`SELECT * FROM ${table}`).all()));
    const steps = await opened.read((db) =>
      db.query<{ version: number }, []>("SELECT version FROM migrations ORDER BY version").all(),
    );
    opened.close();
    fresh.close();

    expect(shapes[0]).toEqual(shapes[1]!);
    expect(after).toEqual(before);
    expect(steps.map((step) => step.version)).toEqual(migrations.map((step) => step.version));
  });
}

test("a step that fails leaves the database at the step before, and numbers only go up", async () => {
  await using dir = await tempFolder();
  const db = new Database(`${dir.path}/old.sqlite`, { create: true, strict: true });
  migrate(db, 1, 1);
  db.run("CREATE TABLE sessions (other TEXT)"); // stands where the next step wants its own table

  expect(() => migrate(db, 2)).toThrow();
  const versions = migrations.map((step) => step.version);

  expect(db.query("SELECT version FROM migrations").all()).toEqual([{ version: 1 }]);
  expect(versions).toEqual([...versions].sort((left, right) => left - right));
  expect(new Set(versions).size).toBe(versions.length);
  db.close();
});
