// What `accept` shows: living lines on a terminal, plain ones elsewhere, and one screen at the end.
import { expect, test } from "bun:test";
import {
  acceptProgress,
  leaveLivingLine,
  type ProgressScreen,
  stderrScreen,
} from "../../src/commands/accept-progress.ts";
import { acceptSummary } from "../../src/commands/accept-summary.ts";
import type { Report } from "../../src/contract/report.ts";
import { honestReport, withVerdict, writeRun } from "../evidence/honest-report.ts";
import { tempFolder } from "../support/temp-folder.ts";

function handScreen(more: Partial<ProgressScreen> = {}) {
  let nowMs = 0;
  let text = "";
  const screen: ProgressScreen = {
    terminal: true,
    colour: false,
    columns: () => 80,
    write: (part) => {
      text += part;
    },
    nowMs: () => nowMs,
    ...more,
  };
  return {
    progress: acceptProgress(screen),
    advance: (ms: number) => {
      nowMs += ms;
    },
    written: () => text,
    /** What a person sees in the end: each line as it was written last. */
    screen: () => text.split("\n").map((line) => line.split("\r").at(-1)?.replaceAll("\x1b[K", "") ?? ""),
  };
}

test("a living line is rewritten while its stage goes on and stays as it ended", () => {
  const { progress, advance, screen, written } = handScreen();

  progress.stage("preflight");
  advance(1_500);
  progress.stage("consumer");
  progress.phase("consumer_running");
  advance(2_000);
  progress.phase("consumer_accepted");
  progress.stage("managed");
  advance(100);
  progress.phase("managed_failed");
  progress.end();

  expect(screen()).toEqual([
    "  preflight    1.5 s  done",
    "  consumer     2.0 s  passed",
    "  managed      0.1 s  not passed",
    "",
  ]);
  expect(written()).toContain("\r  consumer     0.0 s  a client reads two files over MCP\x1b[K\r");
});

test("time runs on a terminal even when nothing is told, and stops at the end", async () => {
  const drawn: string[] = [];
  const seen = Promise.withResolvers<void>();
  const progress = acceptProgress({
    terminal: true,
    colour: false,
    columns: () => 80,
    nowMs: () => 0,
    write: (text) => {
      drawn.push(text);
      if (drawn.length === 4) seen.resolve();
    },
  });

  progress.stage("provision");
  await seen.promise;
  progress.end("failed");

  expect(drawn.at(-2)).toContain("not passed");
  expect(drawn.at(-1)).toBe("\n");
  progress.end();
  expect(drawn.at(-1)).toBe("\n");
});

test("a line never reaches the last column, however narrow the terminal is or becomes", () => {
  for (const columns of [200, 40, 20, 10, 2, 1]) {
    const { progress, screen } = handScreen({ columns: () => columns });
    progress.stage("managed");
    progress.phase("before_server_restart");
    progress.end();
    for (const line of screen()) expect(line.length).toBeLessThanOrEqual(Math.max(1, columns - 1));
  }
});

test("colour comes only where it is welcome, and never in the width", () => {
  const coloured = handScreen({ colour: true });
  const plain = handScreen();
  for (const { progress } of [coloured, plain]) {
    progress.stage("consumer");
    progress.phase("consumer_failed");
    progress.end();
  }

  expect(coloured.written()).toContain("\x1b[31mnot passed\x1b[0m");
  expect(plain.written()).not.toContain("\x1b[3");
  expect(stderrScreen({ TERM: "dumb" }).terminal).toBe(false);
  expect(stderrScreen({ NO_COLOR: "1" }).colour).toBe(false);
});

test("elsewhere there is one plain line a phase and nothing is rewritten", () => {
  const { progress, advance, written } = handScreen({ terminal: false });

  progress.stage("preflight");
  progress.phase("preflight");
  advance(1_000);
  progress.phase("services_ready");
  progress.phase("services_ready");
  progress.end();

  expect(written()).toBe("   0.0 s  preflight\n   1.0 s  services ready\n");
});

test("a sentence after a living line that nobody ended stands on a line of its own", () => {
  for (const [terminal, written] of [
    [true, "\n"],
    [false, ""],
  ] as const) {
    let text = "";
    const write = (part: string) => {
      text += part;
    };
    leaveLivingLine({ terminal, colour: false, columns: () => 80, nowMs: () => 0, write });
    expect(text).toBe(written);
  }
});

async function screenOf(change: (report: Report) => Report = (report) => report): Promise<string> {
  await using dir = await tempFolder();
  const report = withVerdict(change({ ...honestReport(), output_dir: dir.path }));
  const digest = writeRun(dir.path, report);
  const text = await acceptSummary(report);
  return text.replaceAll(digest, "<digest>").replaceAll(dir.path, "<folder>");
}

test("the last screen tells a stranger who ran, what was proven, what was not, and what to do next", async () => {
  const text = await screenOf();

  const lines = text.split("\n");
  expect(lines.length).toBeLessThanOrEqual(32);
  expect(lines[0]).toBe("PASSED in 9.0 s: all of it was shown, with the programs below.");
  expect(text).toContain("\nWhat ran\n  control plane proctor-server 1.0.0, embedded in this executable\n");
  expect(text).toContain("proctor-standin-exec 1.0.0, stand-in: scripted, not the real program\n");
  expect(text).toContain("\nProven\n  consumer      passed, a client read two files over MCP");
  expect(text).toMatch(/\n {2}rules {9}(\d+) of \1 held\n/);
  expect(text).toContain("\nNot proven\n");
  expect(text).toContain("\nReport  <folder>/report.json\nDigest  <digest>\n");
  expect(text).toEndWith("proctor verify <folder> --digest <digest>");
});

test("the last screen of a failed run names code, sentence, rule and whose doing it was", async () => {
  const text = await screenOf((report) => ({
    ...report,
    consumer: { passed: false, failure: "consumer_deadline" },
    managed: { ...report.managed, passed: false, failure: "managed_prompt_redispatched" },
    facts: { ...report.facts!, audit: { ...report.facts!.audit!, adapter_processes: 2 } },
  }));

  expect(text).toStartWith("FAILED in 9.0 s\n  managed_prompt_redispatched: There was not exactly one prompt");
  expect(text).toContain(
    "Decided by rule managed_single_prompt (facts.audit.prompts in the report). Whose doing: the runner.",
  );
  expect(text).toContain(
    "\n  consumer      not passed: consumer_deadline. The consumer did not end before the time-out.\n",
  );
  expect(text).not.toContain("Proven\n  consumer");
  expect(text).toEndWith("proctor report <folder> --html F");
});

test("an incomplete run says that nothing was decided, and bad text of a report never reaches the terminal", async () => {
  const text = await screenOf((report) => ({
    ...report,
    recovery: { ...report.recovery, passed: false },
    seats: { ...report.seats!, consumer: { ...report.seats!.consumer, name: "co\x1b[31mdex\u202e" } },
    facts: { ...report.facts!, recovery: { ...report.facts!.recovery!, phase_before_disconnect: "terminal" } },
  }));

  expect(text).toStartWith("FAILED (incomplete: neither shown nor refuted) in 9.0 s\n");
  expect(text).not.toContain("\x1b");
  expect(text).not.toContain("\u202e");
});
