// The table of methods against what the pinned real Codex itself says it takes. Skipped where it is not installed.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { followsThread, needsLease, rightFor } from "../../src/gateway/method-table.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { realCodex } from "./codex-fixture.ts";

test.skipIf(realCodex === null)("G110 every request of the pinned app-server has a right", async () => {
  await using dir = await tempFolder();
  const env = { PATH: "/usr/bin:/bin", HOME: dir.path, CODEX_HOME: dir.path };
  const args = ["app-server", "generate-json-schema", "--experimental", "--out", `${dir.path}/schema`];
  await runProgram({ command: realCodex!, args, cwd: dir.path, env, timeoutMs: 60_000, maxOutputBytes: 1024 * 1024 });
  const schema = JSON.parse(readFileSync(`${dir.path}/schema/ClientRequest.json`, "utf8"));
  const methods: string[] = schema.oneOf.map(
    (one: { properties: { method: { enum: string[] } } }) => one.properties.method.enum[0],
  );

  expect(methods.length).toBe(189);
  expect(methods.filter((method) => rightFor(method) === undefined)).toEqual(["initialize"]);
});

test("rightFor() tells what controls, observes, approves and ends apart; needsLease() and followsThread() agree", () => {
  const table = {
    "thread/read": "observe",
    "thread/resume": "observe",
    "thread/start": "interact",
    "turn/start": "interact",
    "fs/readFile": "interact",
    "thread/approveGuardianDeniedAction": "approve",
    "account/logout": "terminate",
  } as const;
  for (const [method, right] of Object.entries(table)) expect([method, rightFor(method)]).toEqual([method, right]);
  expect(rightFor("no/such")).toBeUndefined();
  expect(rightFor("no/such", new Map([["no/such", "observe"]]))).toBe("observe");
  expect(rightFor("turn/start", new Map([["turn/start", "observe"]]))).toBe("interact");
  expect(["turn/start", "turn/interrupt", "review/start"].every((method) => needsLease(method, "interact"))).toBe(true);
  expect(needsLease("thread/read", "observe") || needsLease("fs/readFile", "interact")).toBe(false);
  expect(["thread/start", "thread/resume", "thread/read", "thread/fork"].every(followsThread)).toBe(true);
  expect(followsThread("thread/list")).toBe(false);
});
