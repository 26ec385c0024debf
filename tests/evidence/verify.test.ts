// `verify` agrees with an honest run and names each kind of tampering; a consistent rewrite needs the digest.
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "../../src/contract/report.ts";
import { findingCodes } from "../../src/evidence/codes.ts";
import { verify } from "../../src/evidence/verify.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { auditRecords, chainedLines, honestReport, withVerdict, writeReport, writeRun } from "./honest-report.ts";

// biome-ignore lint/suspicious/noExplicitAny: a tampering test writes wherever it likes
type Loose = any;

async function findingsAfter(tamper: (folder: string, report: Loose) => void): Promise<string[]> {
  await using folder = await tempFolder();
  writeRun(folder.path);
  const report = structuredClone(honestReport());
  tamper(folder.path, report);
  const found = verify(folder.path);
  expect(found.agrees).toBe(false);
  return [...new Set(found.findings.map((finding) => finding.code))];
}

function edited(change: (report: Loose) => void): (folder: string, report: Loose) => void {
  return (folder, report) => {
    change(report);
    writeReport(folder, report);
  };
}

test("an honest run is agreed with, from the folder and from the file, with its digest and without", async () => {
  await using folder = await tempFolder();
  const digest = writeRun(folder.path);
  for (const path of [folder.path, join(folder.path, "report.json")])
    for (const options of [{}, { digest }, { digest: digest.toUpperCase() }]) {
      const found = verify(path, options);
      expect(found.findings).toEqual([]);
      expect(found).toMatchObject({ agrees: true, state: "passed", decided_by: null, digest });
    }
  expect(verify(folder.path).reach).toContain("No digest");
});

test("an honest failed run is agreed with, and the rule that decided is named", async () => {
  await using folder = await tempFolder();
  const report = honestReport();
  report.facts!.consumer!.fixture_unchanged = false;
  report.consumer = { ...report.consumer, passed: false, failure: "consumer_changed_fixture" };
  writeRun(folder.path, withVerdict(report));
  expect(verify(folder.path)).toMatchObject({
    agrees: true,
    state: "failed",
    decided_by: { rule: "consumer_fixture", outcome: "fail", code: "consumer_changed_fixture" },
  });
});

const auditPath = "private/acp-metadata.jsonl";
const linesOf = (folder: string) => readFileSync(join(folder, auditPath), "utf8").trimEnd().split("\n");
const writeLines = (folder: string, lines: string[]) => writeFileSync(join(folder, auditPath), `${lines.join("\n")}\n`);

const kinds: Array<[kind: string, codes: string[], tamper: (folder: string, report: Loose) => void]> = [
  [
    "a changed byte of a file",
    ["file_changed"],
    (folder) => writeFileSync(join(folder, "project/clamp.py"), "def clamp(value, lower, upper):\n    return valuE\n"),
  ],
  ["a removed file", ["file_missing"], (folder) => rmSync(join(folder, "private/runner.toml"))],
  [
    "a moved file",
    ["file_moved"],
    (folder) => renameSync(join(folder, "project/clamp.py"), join(folder, "project/moved.py")),
  ],
  [
    "a file replaced by a link",
    ["file_replaced"],
    (folder) => {
      renameSync(join(folder, "private/runner.toml"), join(folder, "private/other.db.d"));
      symlinkSync("other.db.d", join(folder, "private/runner.toml"));
      rmSync(join(folder, "private/other.db.d"));
    },
  ],
  ["an extra file beside the report", ["file_extra"], (folder) => writeFileSync(join(folder, "note.txt"), "x")],
  ["an extra file in private", ["file_extra"], (folder) => writeFileSync(join(folder, "private/note.txt"), "x")],
  [
    "a cut audit line",
    ["file_changed", "audit_line_removed"],
    (folder) => {
      const text = readFileSync(join(folder, auditPath), "utf8");
      writeFileSync(join(folder, auditPath), text.slice(0, -5));
    },
  ],
  [
    "a removed audit line",
    ["file_changed", "audit_line_removed"],
    (folder) => writeLines(folder, linesOf(folder).slice(1)),
  ],
  [
    "an added audit line",
    ["file_changed", "audit_line_added"],
    (folder) => appendFileSync(join(folder, auditPath), '{"event":"diagnostic"}\n'),
  ],
  [
    "a changed byte of the audit",
    ["file_changed", "audit_chain_broken"],
    (folder) =>
      writeLines(
        folder,
        linesOf(folder).map((line) => line.replace('"medium"', '"mediuM"')),
      ),
  ],
  [
    "another whole audit in its place",
    ["file_changed", "audit_changed"],
    (folder) =>
      writeLines(
        folder,
        chainedLines(auditRecords.map((event) => ({ ...event, time_ns: Number(event["time_ns"]) + 1 }))),
      ),
  ],
  [
    "an unchained audit with every digest rewritten",
    ["audit_chain_broken"],
    (folder, report) => {
      const text = `${auditRecords.map((event) => JSON.stringify(event)).join("\n")}\n`;
      const sha256 = createHash("sha256").update(text).digest("hex");
      writeFileSync(join(folder, auditPath), text);
      const file = report.manifest.files.find((one: { path: string }) => one.path === auditPath);
      Object.assign(file, { sha256, bytes: Buffer.byteLength(text) });
      report.audit.sha256 = sha256;
      report.facts.audit.sha256 = sha256;
      writeReport(folder, report);
    },
  ],
  ["a changed diff", ["file_changed"], (folder) => appendFileSync(join(folder, "implementation.diff"), "+x\n")],
  [
    "an edited rule",
    ["rule_edited"],
    edited((report) => {
      report.verdict.rules[3].fact = "edited";
    }),
  ],
  [
    "a failed rule turned to pass",
    ["rule_edited", "outcome_edited", "state_edited", "stage_edited"],
    edited((report) => {
      report.facts.consumer.fixture_unchanged = false;
    }),
  ],
  ["a removed rule", ["rule_missing"], edited((report) => report.verdict.rules.splice(2, 1))],
  [
    "an invented rule",
    ["rule_unknown"],
    edited((report) => report.verdict.rules.push({ ...report.verdict.rules[0], rule: "made_up" })),
  ],
  [
    "an edited outcome",
    ["outcome_edited"],
    edited((report) => {
      report.verdict.outcome = "incomplete";
    }),
  ],
  [
    "an edited state",
    ["state_edited"],
    edited((report) => {
      report.state = "failed";
    }),
  ],
  ["a shortened not-proven list", ["not_proven_edited"], edited((report) => report.verdict.not_proven.pop())],
  [
    "a removed verdict",
    ["verdict_missing"],
    edited((report) => {
      delete report.verdict;
    }),
  ],
  [
    "a removed list of files",
    ["manifest_missing"],
    edited((report) => {
      delete report.manifest;
    }),
  ],
  [
    "a list of files without the audit",
    ["manifest_missing", "file_extra"],
    edited((report) => {
      report.manifest.files = report.manifest.files.filter((file: { path: string }) => file.path !== auditPath);
    }),
  ],
  [
    "a path outside the folder",
    ["manifest_repeated"],
    edited((report) => report.manifest.files.push({ path: "../x", sha256: "0".repeat(64), bytes: 0 })),
  ],
  [
    "an edited prompt count",
    ["audit_facts_edited"],
    edited((report) => {
      report.recovery.actual_prompt_dispatches = 2;
    }),
  ],
  [
    "edited audit facts",
    ["audit_facts_edited"],
    edited((report) => {
      report.facts.audit.adapter_exits = 0;
    }),
  ],
  [
    "an edited run id",
    ["binding_edited"],
    edited((report) => {
      report.managed.run_id = "run_2";
    }),
  ],
  [
    "an edited server pid",
    ["recovery_edited"],
    edited((report) => {
      report.recovery.new_server_pid = 201;
    }),
  ],
  [
    "an edited read",
    ["receipts_edited"],
    edited((report) => {
      report.consumer.tool_calls[0].files[0].sha256 = "0".repeat(64);
    }),
  ],
  [
    "an edited test result",
    ["tests_edited"],
    edited((report) => {
      report.managed.all_tests = { ...report.managed.all_tests, tests_run: 9 };
    }),
  ],
  [
    "an edited diff digest",
    ["diff_edited"],
    edited((report) => {
      report.managed.implementation_diff_sha256 = "0".repeat(64);
    }),
  ],
  [
    "an edited fixture digest",
    ["fixture_edited"],
    edited((report) => {
      report.fixture.fixed_test_sha256 = "0".repeat(64);
    }),
  ],
  [
    "an edited seat",
    ["seats_edited"],
    edited((report) => {
      report.adapter.version = "9";
    }),
  ],
  ["edited times", ["times_edited"], edited((report) => report.timeline.reverse())],
  [
    "an unfinished report",
    ["report_not_closed"],
    edited((report) => {
      report.phase = "consumer_accepted";
    }),
  ],
  [
    "a field of another kind",
    ["report_shape"],
    edited((report) => {
      report.process_id = "x";
    }),
  ],
  [
    "an unknown field among the facts",
    ["report_shape"],
    edited((report) => {
      report.facts.audit.more = 1;
    }),
  ],
];
for (const [kind, codes, tamper] of kinds)
  test(`tampering is named: ${kind}`, async () => {
    const found = await findingsAfter(tamper);
    for (const code of codes) expect(found).toContain(code);
    expect(found.length).toBeLessThanOrEqual(codes.length + 1);
  });

test("at least 20 kinds are told apart by a code of their own", () => {
  expect(new Set(kinds.flatMap(([, codes]) => codes)).size).toBeGreaterThanOrEqual(20);
  for (const [, codes] of kinds) for (const code of codes) expect(Object.keys(findingCodes)).toContain(code);
});

test("a consistent rewrite is found only with the digest, and verify says so", async () => {
  await using folder = await tempFolder();
  const digest = writeRun(folder.path);
  const report: Report = { ...honestReport(), started_at_unix: 1_766_999_999 };
  writeReport(folder.path, report);
  expect(verify(folder.path)).toMatchObject({ agrees: true, digest_checked: false });
  const found = verify(folder.path, { digest });
  expect(found.findings.map((finding) => finding.code)).toEqual(["digest_mismatch"]);
});

test("what is no report is refused with its own code", async () => {
  await using folder = await tempFolder();
  const refused = (run: () => unknown) => {
    try {
      run();
    } catch (error) {
      return (error as { code?: string }).code;
    }
    return "nothing";
  };
  expect(refused(() => verify(folder.path))).toBe("report_missing");
  expect(refused(() => verify(`/${"n".repeat(300)}`))).toBe("report_missing");
  expect(refused(() => verify("/proc/self/status/below-a-file"))).toBe("report_missing");
  writeFileSync(join(folder.path, "report.json"), "{");
  expect(refused(() => verify(folder.path))).toBe("report_unreadable");
  writeFileSync(join(folder.path, "report.json"), '{"format":"other"}');
  expect(refused(() => verify(folder.path))).toBe("report_format_unknown");
  expect(refused(() => verify(folder.path, { digest: "abc" }))).toBe("report_digest_invalid");
});
