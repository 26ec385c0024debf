// Remembered texts: rights, owners, compare-and-swap and bounds, through the door a caller uses.
import { expect, test } from "bun:test";
import { Secret } from "../../src/base/secret.ts";
import { serverLimits } from "../../src/server/limits.ts";
import { type MemoryPlace, searchMemories, setMemory } from "../../src/server/memories.ts";
import { openServer, type RunningServer } from "../../src/server/server.ts";
import { openStore } from "../../src/server/store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { annsRunner, project } from "./anns-runner.ts";
import { bootstrap, type Json, post } from "./served.ts";

function start(folder: string): Promise<RunningServer> {
  const secret = Secret.from(bootstrap);
  return openServer({
    address: "127.0.0.1:0",
    dataFolder: `${folder}/data`,
    bootstrap: secret,
    openLink: () => annsRunner(),
  });
}

async function tokenOf(server: RunningServer, username: string, scopes: readonly string[]): Promise<string> {
  await post(`${server.url}/api/users/create`, { username });
  return (await post(`${server.url}/api/tokens/create`, { username, scopes })).token;
}

function caller(server: RunningServer, token?: string) {
  return async (tool: string, params: Json): Promise<Json> => {
    const answer = await post(`${server.url}/api/tools/call`, { tool, params: { project, ...params } }, token);
    return answer.output ?? answer;
  };
}

test("memory_set writes by compare-and-swap: a revision seen before never fits again, also after a deletion (O182)", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const call = caller(server);
  const set = (value: string, expected_revision: number | null) =>
    call("memory_set", { memory_key: "build/how", value, expected_revision });

  const made = await set("one", null);
  const blind = await set("two", null);
  const changed = await set("two", 1);
  const stale = await set("three", 1);
  const kept = await call("memory_read", { memory_key: "build/how" });
  const early = await call("memory_delete", { memory_key: "build/how", expected_revision: 1 });
  const gone = await call("memory_delete", { memory_key: "build/how", expected_revision: 2 });
  const absent = await call("memory_read", { memory_key: "build/how" });
  const again = await set("four", null);
  const old = await set("five", 2);
  await server.close();

  expect(made).toMatchObject({ revision: 1, created: true, state_changed: true });
  expect(blind).toMatchObject({ error_kind: "memory_revision_conflict", current_revision: 1, state_changed: false });
  expect(changed).toMatchObject({ revision: 2, created: false });
  expect(stale).toMatchObject({ error_kind: "memory_revision_conflict", current_revision: 2 });
  expect(kept.memory).toMatchObject({ value: "two", revision: 2, bytes: 3 });
  expect([early.error_kind, gone.revision, absent.error_kind]).toEqual([
    "memory_revision_conflict",
    3,
    "memory_not_found",
  ]);
  expect(again).toMatchObject({ revision: 4, created: true });
  expect(old).toMatchObject({ error_kind: "memory_revision_conflict", current_revision: 4 });
});

test("of two callers with the same revision exactly one writes", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const call = caller(server);
  await call("memory_set", { memory_key: "k", value: "first", expected_revision: null });

  const both = await Promise.all(
    ["left", "right"].map((value) => call("memory_set", { memory_key: "k", value, expected_revision: 1 })),
  );
  await server.close();

  expect(both.map((one) => one.error_kind ?? "written").sort()).toEqual(["memory_revision_conflict", "written"]);
});

test("each memory tool asks for both its scopes and shows a caller only their own project's texts", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const scopes = ["project:read", "project:write", "memory:read", "memory:manage"];
  const ann = caller(server, await tokenOf(server, "ann", scopes));
  const bob = caller(server, await tokenOf(server, "bob", scopes));
  const reads = [
    ["memory_search", {}],
    ["memory_read", { memory_key: "k" }],
  ] as const;
  const writes = [
    ["memory_set", { memory_key: "k", value: "v", expected_revision: null }],
    ["memory_delete", { memory_key: "k", expected_revision: 1 }],
  ] as const;

  const refused: string[] = [];
  for (const [missing, calls] of [
    ["project:read", reads],
    ["memory:read", reads],
    ["project:write", writes],
    ["memory:manage", writes],
  ] as const) {
    const token = (
      await post(`${server.url}/api/tokens/create`, {
        username: "ann",
        scopes: scopes.filter((scope) => scope !== missing),
      })
    ).token;
    for (const [tool, params] of calls) refused.push((await caller(server, token)(tool, params)).error);
  }
  await ann("memory_set", { memory_key: "k", value: "ann's 100%", expected_revision: null });
  const own = await ann("memory_search", { query: "ANN'S" });
  const wildcard = await ann("memory_search", { query: "a%n" });
  const operator = await caller(server)("memory_search", {});
  const foreign = await Promise.all([...reads, ...writes].map(([tool, params]) => bob(tool, params)));
  await server.close();

  expect(refused).toEqual(
    ["project:read", "memory:read", "project:write", "memory:manage"].flatMap((scope) => [
      `missing required scope: ${scope}`,
      `missing required scope: ${scope}`,
    ]),
  );
  expect(own).toMatchObject({ count: 1, next_after_key: null });
  expect([wildcard.count, operator.count]).toEqual([0, 0]);
  expect(foreign.map((one) => one.error_kind)).toEqual(Array(4).fill("project_not_found"));
});

test("key, text and page have their bounds, and the number of memories too", async () => {
  await using dir = await tempFolder();
  const server = await start(dir.path);
  const call = caller(server);
  const set = (memory_key: string, value: string) => call("memory_set", { memory_key, value, expected_revision: null });
  const { maxMemoryKeyChars: key, maxMemoryBytes: bytes, memoryPage: page, maxMemories: most } = serverLimits;

  const fits = [await set("k".repeat(key), "v"), await set("bytes", "é".repeat(bytes / 2))];
  const over = [
    await set("k".repeat(key + 1), "v"),
    await set("more", `${"é".repeat(bytes / 2)}x`),
    await set("../up", "v"),
    await set("half", "\ud800"),
    await call("memory_search", { limit: page + 1 }),
  ];
  await server.close();
  const store = openStore(`${dir.path}/data/server.sqlite`, { wallMs: 1 });
  const place: MemoryPlace = { owner: "o", project: "p" };
  const wish = (number: number) => ({
    key: `k${String(number).padStart(5, "0")}`,
    value: "v",
    expected: null,
    nowMs: 1,
  });
  const changes = await store.write((db) =>
    Array.from({ length: most + 1 }, (_, number) => setMemory(db, place, wish(number)).changed),
  );
  const second = await store.read((db) => searchMemories(db, place, { text: "", after: "k00049", limit: 2 }));
  store.close();

  expect(fits.map((one) => one.created)).toEqual([true, true]);
  expect(over.every((one) => /^Invalid arguments/.test(one.error))).toBe(true);
  expect(changes.indexOf("full")).toBe(most);
  expect(second.map((one) => one.key)).toEqual(["k00050", "k00051"]);
});
