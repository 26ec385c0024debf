// What the agent left on disk, looked at by us: hashes, our own test runs, tracked changes and the diff.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { sha256FileHex, sha256Hex } from "../base/bytes.ts";
import { codeOf, Failure } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { createPrivateFile, readPrivateFile, readRegularFile } from "../base/private-files.ts";
import { readAudit } from "../contract/audit.ts";
import type { AuditFacts, ManagedFacts } from "../contract/report.ts";
import { auditFacts } from "../judge/audit.ts";
import type { JudgeCode } from "../judge/codes.ts";
import { suspiciousFiles } from "../judge/managed.ts";
import { additionalTests, askGit, type Fixture, fileIdentity } from "./fixture.ts";
import { harnessLimits } from "./limits.ts";
import { nativeTests } from "./native-tests.ts";
import { probeImplementation } from "./probe.ts";
import type { Run } from "./run.ts";

/** Reads the relay's file, or null when it cannot be read; one that is too long is refused before it is read. */
export function readAuditFacts(run: Run): AuditFacts | null {
  if (!existsSync(run.space.audit)) return null;
  try {
    const reading = readAudit(readRegularFile(run.space.audit, { maxBytes: harnessLimits.auditBytes }));
    return auditFacts(reading.records, reading);
  } catch (error) {
    if (codeOf(error) === "private_file_too_large")
      throw new Failure<JudgeCode>("structured_log_limit", { cause: error });
    return null; // not a file of ours: the rule about it says missing
  }
}

/** The same when all has ended: what was read before stays when the file cannot be read any more. */
export function lastAuditFacts(run: Run): AuditFacts | null {
  try {
    return readAuditFacts(run) ?? run.facts.audit;
  } catch {
    return run.facts.audit; // the stage has ended with this refusal, or never came to the file
  }
}

/** Runs in the embedded runner's own journal: one folder a run. Null where there is no such journal. */
export function runsAdmitted(run: Run): number | null {
  const journal = journalOf(run);
  try {
    return readdirSync(journal).reduce((sum, name) => sum + readdirSync(join(journal, name)).length, 0);
  } catch {
    return null; // a real runner keeps its records elsewhere, or otherwise
  }
}

/** Whether the embedded runner's own journal holds the end of this run; null where nobody can say. */
export function endedInJournal(run: Run, runId: string): boolean | null {
  const journal = journalOf(run);
  try {
    for (const name of readdirSync(journal)) {
      const path = join(journal, name, sha256Hex(runId), "state.json");
      if (!existsSync(path)) continue;
      const record = parseJson(readPrivateFile(path, { maxBytes: harnessLimits.journalRecordBytes }));
      const phase = isRecord(record) ? record["dispatch_phase"] : undefined;
      return typeof phase === "string" ? phase === "terminal" : null;
    }
  } catch {
    // The same: no journal, or not one of ours to read.
  }
  return null;
}

function journalOf(run: Run): string {
  return join(run.space.root, "state/webcodex/runner-coding-agent-runs-v1");
}

/** Looks at the project in the seed's order and keeps every fact at once. */
export async function inspectWork(run: Run, fixture: Fixture, facts: ManagedFacts): Promise<void> {
  const at = (name: string) => join(fixture.folder, name);
  const hashes = () => ({
    fixed: sha256FileHex(at(fixture.fixedTest)),
    implementation: sha256FileHex(at(fixture.implementation)),
  });
  facts.fixed_after = fileIdentity(at(fixture.fixedTest));
  facts.additional_tests = additionalTests(fixture).slice(0, 200);
  facts.suspicious_files = suspiciousFiles(await paths(fixture, run, ["ls-files", "--others", "-z"]));
  facts.hashes_before_tests = hashes();
  if (facts.fixed_after.sha256 !== fixture.fixedBefore.sha256 || facts.additional_tests.length === 0) return;
  facts.fixed_tests = await nativeTests(run, fixture, "fixed");
  run.book.managed["fixed_acceptance_tests"] = facts.fixed_tests;
  facts.all_tests = await nativeTests(run, fixture, "all");
  facts.probe = await probeImplementation(run, fixture);
  facts.hashes_after_tests = hashes();
  facts.changed_tracked = (await paths(fixture, run, ["diff", "--no-ext-diff", "HEAD", "--name-only", "-z"])).slice(
    0,
    400,
  );
  const diff = await askGit(fixture, run.env, [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "HEAD",
    "--",
    fixture.implementation,
  ]);
  createPrivateFile(join(run.space.root, "implementation.diff"), diff);
  facts.diff_sha256 = sha256Hex(diff);
}

async function paths(fixture: Fixture, run: Run, args: readonly string[]): Promise<string[]> {
  const text = new TextDecoder().decode(await askGit(fixture, run.env, args));
  return text.split("\0").filter((path) => path !== "");
}
