import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { acceptSummary } from "../../src/commands/accept-summary.ts";
import { loginAdvice } from "../../src/harness/login-advice.ts";
import { honestReport, withVerdict } from "../evidence/honest-report.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A failed run of a real consumer whose log counted these. */
function refused(categories: Record<string, number>, kind: "real" | "standin" = "real") {
  const report = honestReport();
  report.state = "failed";
  report.seats = { ...report.seats!, consumer: { ...report.seats!.consumer, kind } };
  report.consumer = { passed: false, failure: "consumer_process_failed", stdout_diagnostics: { categories } };
  return report;
}

test("loginAdvice() names the CLI's login flow when a real client was refused online, by category (O016)", () => {
  const [line = ""] = loginAdvice(refused({ http_401: 2, unauthorized: 1, permission_denied: 1 }));
  expect(line).toContain("(http_401, unauthorized)");
  expect(line).toContain("`codex login status` says nothing about the service");
  expect(line).toContain("`codex login`");
  expect(loginAdvice(refused({ refresh_token_reused: 1 }))).toHaveLength(1);
});

test("loginAdvice() says nothing for other faults, for stand-ins, and for a run that passed", () => {
  expect(loginAdvice(refused({ permission_denied: 3, http_401: 0 }))).toEqual([]);
  expect(loginAdvice(refused({ http_401: 1 }, "standin"))).toEqual([]);
  expect(loginAdvice({ ...refused({ http_401: 1 }), state: "passed" })).toEqual([]);
  expect(loginAdvice({})).toEqual([]);
});

test("the adapter's categories, noted by the relay, count too, and the last screen shows the advice (O016)", async () => {
  await using dir = await tempFolder();
  const report = withVerdict(refused({}));
  report.state = "failed";
  report.output_dir = dir.path;
  report.managed["acp_audit"] = { diagnostic_categories: { refresh_token_expired: 1 } };
  writeFileSync(join(dir.path, "report.json"), JSON.stringify(report));

  expect(await acceptSummary(report)).toContain("A login was refused online (refresh_token_expired).");
});
