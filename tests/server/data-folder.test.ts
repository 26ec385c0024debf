// What the server refuses to start on, what it says when the disk takes no write, and the operator's three looks.
import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { runProgram } from "../../src/base/run-program.ts";
import { Secret } from "../../src/base/secret.ts";
import { selfCommand } from "../../src/base/self.ts";
import { serverCodes } from "../../src/server/codes.ts";
import { noRunners } from "../../src/server/no-runners.ts";
import { backupData, checkData } from "../../src/server/operator.ts";
import { openServer } from "../../src/server/server.ts";
import { openStore, type Store } from "../../src/server/store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bootstrap, type Json, post, serve, serverEnvironment } from "./served.ts";

function open(dataFolder: string) {
  return openServer({ address: "127.0.0.1:0", dataFolder, bootstrap: Secret.from(bootstrap), openLink: noRunners });
}

const codeOf = (opening: Promise<{ close(): Promise<void> }>) =>
  opening.then(
    async (server) => {
      await server.close();
      return "open";
    },
    (error) => error.code as string,
  );

test("openServer() refuses a truncated, a corrupt, a foreign and a newer database, and changes none of them", async () => {
  await using dir = await tempFolder();
  const codes: string[] = [];
  const kept: boolean[] = [];
  const spoil = {
    truncated: (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2) + 100),
    corrupt: (path: string) => spoilPages(path),
    foreign: (path: string) => writeDatabase(path, "PRAGMA application_id = 7"),
    newer: (path: string) => writeDatabase(path, "INSERT INTO migrations VALUES (999, 'later', 1)"),
  };
  for (const [name, damage] of Object.entries(spoil)) {
    const folder = `${dir.path}/${name}`;
    await (await open(folder)).close();
    damage(`${folder}/server.sqlite`);
    const before = readFileSync(`${folder}/server.sqlite`);
    const names = readdirSync(folder);
    codes.push(await codeOf(open(folder)));
    expect(readdirSync(folder).filter((entry) => !names.includes(entry))).toEqual([]);
    kept.push(before.equals(readFileSync(`${folder}/server.sqlite`)));
  }

  expect(codes).toEqual(["store_unreadable", "store_unreadable", "store_foreign", "store_newer"]);
  expect(kept).toEqual([true, true, true, true]);
});

/** Damages pages behind a header that still reads well. */
function spoilPages(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0x5a, 3 * 4096, bytes.length);
  writeFileSync(path, bytes);
}

/** Runs one statement the way a foreign program would. */
function writeDatabase(path: string, statement: string): void {
  const store = openStore(path, { wallMs: 1 });
  void store.write((db) => db.run(statement));
  store.close();
}

test("openServer() refuses a folder open to others, a link, a missing parent and a file, and says nothing was made", async () => {
  await using dir = await tempFolder();
  mkdirSync(`${dir.path}/open`, { mode: 0o755 });
  chmodSync(`${dir.path}/open`, 0o755);
  mkdirSync(`${dir.path}/own`, { mode: 0o700 });
  symlinkSync(`${dir.path}/own`, `${dir.path}/link`);
  writeFileSync(`${dir.path}/file`, "");

  const codes = [];
  for (const name of ["open", "link", "missing/below", "file"]) codes.push(await codeOf(open(`${dir.path}/${name}`)));

  expect(codes).toEqual(Array(4).fill("server_data_unusable"));
  expect(existsSync(`${dir.path}/own/server.sqlite`)).toBe(false);
  expect(existsSync(`${dir.path}/open/server.sqlite`)).toBe(false);
});

// Nobody may make a folder below /proc, and the owner of everything may write anywhere else.
test.skipIf(process.platform !== "linux")(
  "openServer() says that a folder cannot be written, and leaves it",
  async () => {
    const code = await codeOf(open("/proc/proctor-data"));

    expect(code).toBe("server_data_unusable");
  },
);

test.skipIf(process.getuid?.() === 0)("openServer() refuses a folder and a database that are read-only", async () => {
  await using dir = await tempFolder();
  const folder = `${dir.path}/data`;
  await (await open(folder)).close();
  chmodSync(`${folder}/server.sqlite`, 0o400);
  const file = await codeOf(open(folder));
  chmodSync(`${folder}/server.sqlite`, 0o600);
  chmodSync(folder, 0o500);
  const whole = await codeOf(open(folder));
  chmodSync(folder, 0o700);
  const again = await codeOf(open(folder));

  expect([file, whole, again]).toEqual(["server_data_unusable", "server_data_unusable", "open"]);
});

test("openServer() names a network file system and makes nothing in it (B48)", async () => {
  await using dir = await tempFolder();
  const folder = `${dir.path}/data`;

  const code = await codeOf(
    openServer({
      address: "127.0.0.1:0",
      dataFolder: folder,
      bootstrap: Secret.from(bootstrap),
      openLink: noRunners,
      kindOfFileSystem: () => "network",
    }),
  );

  expect(code).toBe("server_data_network");
  expect(serverCodes.server_data_network).toContain("local disk");
  expect(readdirSync(folder)).toEqual([]);
});

test("over HTTP a full disk refuses the write that does not fit, says so once, and the next one fits", async () => {
  await using dir = await tempFolder();
  let store: Store | undefined;
  const server = await openServer({
    address: "127.0.0.1:0",
    dataFolder: `${dir.path}/data`,
    bootstrap: Secret.from(bootstrap),
    openLink(parts) {
      store = parts.store;
      return noRunners();
    },
  });
  const create = (username: string, instruction: string) =>
    post(`${server.url}/api/tools/call`, {
      tool: "create_agent_task",
      params: { title: username, instruction, idempotency_key: username },
    });
  await create("before", "x");
  await store!.read((db) => {
    const pages = db.query<{ page_count: number }, []>("PRAGMA page_count").get()!.page_count;
    db.query(`PRAGMA max_page_count = ${pages}`).get();
  });

  const full: Json[] = [];
  for (let at = 0; at < 8 && full.length === 0; at += 1) {
    const answer = await create(`big-${at}`, "y".repeat(8192));
    if (answer.success !== true) full.push(answer);
  }
  await store!.read((db) => db.query("PRAGMA max_page_count = 1000000").get());
  const after = await create("after", "x");
  const ready = await fetch(`${server.url}/readyz`);
  await server.close();

  expect(full).toHaveLength(1);
  expect(["store_unavailable", "store_uncertain"]).toContain(full[0]?.error);
  expect([after.success, ready.status]).toEqual([true, 200]);
  expect(checkData(`${dir.path}/data`).sound).toBe(true);
});

test("server backup of a database under writes is one moment of it: sound, and its counter fits its rows", async () => {
  await using dir = await tempFolder();
  const { group, url } = await serve(dir.path);
  const write = (at: number) =>
    post(`${url}/api/tools/call`, {
      tool: "create_goal",
      params: { title: "t", objective: "o", idempotency_key: `k${at}` },
    });
  let at = 0;
  let stop = false;
  const writers = Array.from({ length: 4 }, async () => {
    while (!stop) await write(at++);
  });
  await holdsWithin(() => at > 20, { withinMs: 30_000 });

  const bytes = backupData(`${dir.path}/data`, `${dir.path}/copy.sqlite`).bytes;
  stop = true;
  await Promise.all(writers);
  await group.stop({ firstSignal: "SIGINT" });
  mkdirSync(`${dir.path}/copy`, { mode: 0o700 });
  renameSync(`${dir.path}/copy.sqlite`, `${dir.path}/copy/server.sqlite`);
  const report = checkData(`${dir.path}/copy`);

  expect(bytes).toBeGreaterThan(4096);
  expect(report).toMatchObject({ sound: true, pending_migrations: 0 });
  // A goal and its key are one write; half of one would show here.
  expect(report.rows.goals).toBe(report.rows.idempotency!);
  expect(report.rows.goals).toBeGreaterThan(10);
  const server = await open(`${dir.path}/copy`);
  await server.close();
}, 120_000);

test("a full database takes no part of a write, says so, and takes the next one that fits", async () => {
  await using dir = await tempFolder();
  const store = openStore(`${dir.path}/server.sqlite`, { wallMs: 1 });
  const add = (text: string) =>
    store.write((db) => {
      db.query(
        "INSERT INTO users (user_id, username, display_name, role, created_at, updated_at) VALUES (?1, ?1, ?2, 'user', 1, 1)",
      ).run(text.slice(0, 8), text);
    });
  // The page count is bounded as a full disk bounds it: the next page is refused with SQLITE_FULL.
  await store.read((db) => {
    const pages = db.query<{ page_count: number }, []>("PRAGMA page_count").get()!.page_count;
    db.query(`PRAGMA max_page_count = ${pages}`).get();
  });

  const full = await add(`big-----${"x".repeat(1 << 20)}`).then(
    () => "stored",
    (error) => String(error.code),
  );
  const small = await add("small---").then(
    () => "stored",
    (error) => String(error.code),
  );
  const names = await store.read((db) => db.query<{ username: string }, []>("SELECT username FROM users").all());
  store.close();

  expect(full).not.toBe("stored");
  expect(small).toBe("stored");
  expect(names).toEqual([{ username: "small---" }]);
});

test("openServer() leaves another program's database as it was, journal mode and all", async () => {
  await using dir = await tempFolder();
  mkdirSync(`${dir.path}/data`, { mode: 0o700 });
  const path = `${dir.path}/data/server.sqlite`;
  const store = openStore(path, { wallMs: 1 });
  await store.read((db) => {
    db.run("PRAGMA journal_mode = DELETE");
    db.run("PRAGMA application_id = 7");
  });
  store.close();
  const before = readFileSync(path);

  const code = await codeOf(open(`${dir.path}/data`));

  expect(code).toBe("store_foreign");
  expect(before.equals(readFileSync(path))).toBe(true);
});

test("server check, backup and status look at a server in use; the backup is complete and never replaces a file", async () => {
  await using dir = await tempFolder();
  const { group, url } = await serve(dir.path);
  await post(`${url}/api/users/create`, { username: "ann" });
  const port = Number(new URL(url).port);
  const run = async (...words: string[]) => {
    const { command, args } = selfCommand(["server", ...words]);
    const env = serverEnvironment(dir.path, port);
    const done = await runProgram({ command, args, cwd: dir.path, env, timeoutMs: 60_000, maxOutputBytes: 65_536 });
    return { code: done.code, out: new TextDecoder().decode(done.stdout), err: new TextDecoder().decode(done.stderr) };
  };

  const status = await run("status", "--json");
  const check = await run("check", "--json");
  const backup = await run("backup", "restored.sqlite", "--json");
  const again = await run("backup", "restored.sqlite");
  await group.stop({ firstSignal: "SIGINT" });
  const silent = await run("status");
  mkdirSync(`${dir.path}/restored`, { mode: 0o700 });
  writeFileSync(`${dir.path}/restored/server.sqlite`, readFileSync(`${dir.path}/restored.sqlite`), { mode: 0o600 });
  writeFileSync(`${dir.path}/data/server.sqlite`, "damaged");
  const damaged = await run("check");

  expect(JSON.parse(status.out)).toMatchObject({ status: "ready", runners_connected: 0 });
  expect(JSON.parse(check.out)).toMatchObject({ sound: true, pending_migrations: 0, rows: { users: 1 } });
  expect(backup.code).toBe(0);
  expect(statSync(`${dir.path}/restored.sqlite`).mode & 0o777).toBe(0o600);
  expect(checkData(`${dir.path}/restored`)).toMatchObject({ sound: true, rows: { users: 1 } });
  expect([again.code, silent.code, damaged.code].every((code) => code !== 0)).toBe(true);
  expect(again.err).toContain("nothing was overwritten");
}, 180_000);
