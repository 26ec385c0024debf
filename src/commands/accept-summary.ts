// One screen a stranger understands: what ran in which seat, what was proven and what was not, where the evidence
// lies, and what to do next. Every word about the subject is a code's sentence or a name that was checked.

import { sha256FileHex } from "../base/bytes.ts";
import { counted } from "../base/counted.ts";
import { isRecord } from "../base/json.ts";
import { visible } from "../base/visible.ts";
import { Report, type Rule, type Seat } from "../contract/report.ts";
import { loginAdvice } from "../harness/login-advice.ts";
import { adviceFor } from "../harness/unfinished.ts";
import { decidingRule } from "../judge/verdict.ts";
import { sentenceOf } from "./sentences.ts";

type StageName = "consumer" | "managed" | "recovery";

const stageClaims: Readonly<Record<StageName, string>> = {
  consumer: "a client read two files over MCP; what it got equals the bytes on disk",
  managed: "an agent did a coding task after one prompt; our own tests of it pass",
  recovery: "the server was ended under the running agent; task, attempt and run stayed the same",
};

const kinds: Readonly<Record<Seat["kind"], string>> = {
  embedded: "embedded in this executable",
  standin: "stand-in: scripted, not the real program",
  real: "real program",
};

/** The finished report in at most some thirty lines. */
export async function acceptSummary(value: Record<string, unknown>): Promise<string> {
  const parsed = Report.safeParse(value);
  if (!parsed.success)
    return `The run ended as ${visible(String(value["state"]), 20)}, but its report has an unexpected shape.`;
  const report = parsed.data;
  const folder = visible(report.output_dir, 4096);
  const digest = sha256FileHex(`${report.output_dir}/report.json`);
  return [
    ...(await headline(report)),
    "",
    "What ran",
    ...seatLines(report),
    report.state === "passed" ? "Proven" : "Stages",
    ...(await Promise.all((["consumer", "managed", "recovery"] as const).map((name) => stageLine(report, name)))),
    ...countLines(report),
    ...complaintLines(report),
    ...(report.notes ?? []).map((note) => `  note          ${visible(note, 300)}`),
    ...notProvenLines(report),
    ...adviceFor(value),
    ...loginAdvice(value),
    "",
    `Report  ${folder}/report.json`,
    `Digest  ${digest}`,
    ...nextSteps(folder, digest, report.state === "passed"),
  ].join("\n");
}

async function headline(report: Report): Promise<string[]> {
  const seconds = ((report.finished_at_unix ?? report.updated_at_unix) - report.started_at_unix).toFixed(1);
  if (report.state === "passed") return [`PASSED in ${seconds} s: all of it was shown, with the programs below.`];
  const outcome = report.verdict?.outcome;
  const deciding = decidingRule(report.verdict?.rules ?? []);
  const code = report.failure ?? deciding?.code;
  const word = outcome === "incomplete" ? "FAILED (incomplete: neither shown nor refuted)" : "FAILED";
  const reason = code === undefined ? [] : [`  ${code}: ${await sentenceOf(code)}`];
  return [`${word} in ${seconds} s`, ...reason, ...(deciding === undefined ? [] : [blame(deciding)])];
}

function blame(rule: Rule): string {
  const whose = rule.party === undefined ? "" : ` Whose doing: the ${rule.party}.`;
  return `  Decided by rule ${rule.rule} (${rule.where} in the report).${whose}`;
}

function seatLines(report: Report): string[] {
  const seats = report.seats;
  if (seats === undefined) return ["  nothing: the run ended before the seats were known"];
  return Object.entries(seats).map(([name, seat]) => {
    const label = `  ${name.replace("_", " ").padEnd(14)}`;
    if (seat === null) return `${label}none: no program here asks a model`;
    return `${label}${visible(`${seat.name} ${seat.version}`, 80)}, ${kinds[seat.kind]}`;
  });
}

async function stageLine(report: Report, name: StageName): Promise<string> {
  const { passed, failure } = report[name];
  const label = `  ${name.padEnd(14)}`;
  if (passed) return `${label}passed, ${stageClaims[name]}`;
  if (failure !== undefined) return `${label}not passed: ${failure}. ${await sentenceOf(failure)}`;
  return `${label}not passed: not shown`;
}

function countLines(report: Report): string[] {
  const rules = report.verdict?.rules ?? [];
  const count = (outcome: Rule["outcome"]) => rules.filter((rule) => rule.outcome === outcome).length;
  const rest = (["fail", "incomplete", "not_applicable"] as const)
    .filter((outcome) => count(outcome) > 0)
    .map((outcome) => `${count(outcome)} ${outcome === "fail" ? "failed" : outcome.replace("_", " ")}`);
  const { census, canaries } = report;
  const left = census && `${census.still_visible.length} of ${counted(census.started.length, "process", "processes")}`;
  const found =
    canaries &&
    `found in ${counted(canaries.found.length, "place")}, ${counted(canaries.scanned.length, "file")} searched`;
  return [
    `  rules         ${[`${count("pass")} of ${rules.length} held`, ...rest].join(", ")}`,
    `  still running ${left ?? "not looked at"}`,
    `  private text  ${found ?? "not searched"}`,
  ];
}

/** What the programs of a failed run complained of, by category: often the whole answer to "why". */
function complaintLines(report: Report): string[] {
  if (report.state === "passed") return [];
  const consumer = report.consumer as Record<string, unknown>;
  const managed = report.managed as Record<string, unknown>;
  const found = [
    ["consumer", at(consumer["diagnostics"], "categories")],
    ["consumer's log", at(consumer["stdout_diagnostics"], "categories")],
    ["adapter", at(managed["acp_audit"], "diagnostic_categories")],
  ] as const;
  return found.flatMap(([who, counts]) => {
    const named = Object.entries(isRecord(counts) ? counts : {}).filter(
      ([, count]) => typeof count === "number" && count > 0,
    );
    const list = named.map(([category, count]) => `${category} ${count}`).join(", ");
    return named.length === 0 ? [] : [`  complaints    ${who}: ${visible(list, 300)}`];
  });
}

function at(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function notProvenLines(report: Report): string[] {
  const open = report.verdict?.not_proven ?? [];
  return open.length === 0
    ? []
    : ["Not proven", ...open.map((line) => `  ${visible(line, 300).replace(/^control_plane:/, "control plane:")}`)];
}

function nextSteps(folder: string, digest: string, passed: boolean): string[] {
  return passed
    ? [
        "Next    keep the digest in another place; with it this checks everything again, offline:",
        `        proctor verify ${folder} --digest ${digest}`,
      ]
    : ["Next    see every rule with the fact that decided it, as a page:", `        proctor report ${folder} --html F`];
}
