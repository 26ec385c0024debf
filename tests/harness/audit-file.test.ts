// The relay's file as the managed stage reads it: whole up to its bound, refused unread beyond it.
import { expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { failureOf } from "../../src/harness/harness.ts";
import { harnessLimits } from "../../src/harness/limits.ts";
import { lastAuditFacts, readAuditFacts } from "../../src/harness/managed-work.ts";
import { judgeReport } from "../../src/judge/verdict.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { stageRun } from "./stage-run.ts";

test("an audit of 1 MiB is read and one byte more is refused as too long, by code and party (H048)", async () => {
  await using dir = await tempFolder();
  await using stage = stageRun(dir.path);
  const { run } = stage;
  const limit = harnessLimits.auditBytes;
  const line = `${JSON.stringify({ pad: "x".repeat(1024 - 11) })}\n`;
  const code = () => {
    try {
      return readAuditFacts(run) === null ? "missing" : "read";
    } catch (error) {
      return failureOf(error);
    }
  };

  expect(code()).toBe("missing");
  expect([line.length, limit]).toEqual([1024, 1024 * 1024]);
  writeFileSync(run.space.audit, line.repeat(1024), { mode: 0o600 });
  expect(code()).toBe("read");
  writeFileSync(run.space.audit, `${line.repeat(1024)}\n`);
  expect(code()).toBe("structured_log_limit");
  expect(lastAuditFacts(run)).toBeNull();

  const verdict = judgeReport({ consumer: {}, managed: { failure: "structured_log_limit" } });
  const rule = verdict.rules.find((one) => one.code === "structured_log_limit");
  expect(rule).toMatchObject({ rule: "stage_managed", outcome: "fail", party: "runner" });
});

test("an audit that is a link is not followed and counts as missing", async () => {
  await using dir = await tempFolder();
  await using stage = stageRun(dir.path);
  writeFileSync(`${dir.path}/elsewhere`, "{}\n");
  symlinkSync(`${dir.path}/elsewhere`, stage.run.space.audit);

  expect(readAuditFacts(stage.run)).toBeNull();
});
