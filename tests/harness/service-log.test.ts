import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { harnessLimits } from "../../src/harness/limits.ts";
import { summarizeAndRemoveLog } from "../../src/harness/service-log.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("summarizeAndRemoveLog() keeps counts of occurrences and no text (H053 H054 H056)", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "service.log");
  writeFileSync(path, "401 then 401 and Permission Denied, token abc\n");

  const summary = summarizeAndRemoveLog(path);

  expect(summary).toEqual({
    log: "service.log",
    bytes_inspected: 46,
    limit_bytes: 2 * 1024 * 1024,
    truncated: false,
    categories: { http_401: 2, permission_denied: 1 },
    raw_deleted: true,
  });
  expect(existsSync(path)).toBe(false);
});

test("summarizeAndRemoveLog() reads to its limit and says what is longer (H054)", async () => {
  await using dir = await tempFolder();
  const path = join(dir.path, "service.log");
  for (const [size, truncated] of [
    [harnessLimits.serviceLogBytes, false],
    [harnessLimits.serviceLogBytes + 1, true],
  ] as const) {
    writeFileSync(path, Buffer.alloc(size, 0x61));
    const summary = summarizeAndRemoveLog(path);
    expect([summary.bytes_inspected, summary.truncated]).toEqual([harnessLimits.serviceLogBytes, truncated]);
  }
});

test("summarizeAndRemoveLog() follows no link and says what it could not read or delete (H053 H055 H056)", async () => {
  await using dir = await tempFolder();
  const target = join(dir.path, "target");
  writeFileSync(target, "401");
  symlinkSync(target, join(dir.path, "linked.log"));
  mkdirSync(join(dir.path, "folder.log"));

  const linked = summarizeAndRemoveLog(join(dir.path, "linked.log"));
  const missing = summarizeAndRemoveLog(join(dir.path, "missing.log"));
  const folder = summarizeAndRemoveLog(join(dir.path, "folder.log"));

  expect(linked).toMatchObject({ observation: "unavailable", categories: {}, raw_deleted: true });
  expect(readFileSync(target, "utf8")).toBe("401");
  expect(missing).toMatchObject({ observation: "unavailable", raw_deleted: true });
  expect(folder).toMatchObject({ raw_deleted: false });
});
