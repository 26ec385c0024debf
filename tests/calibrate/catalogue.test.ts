// The catalogue: enough subjects, told apart, covering the judges' codes, and equal to the table in the docs.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { catalogue, subjectFile } from "../../src/calibrate/catalogue.ts";
import { catalogueMarkdown } from "../../src/calibrate/table.ts";
import { Subject } from "../../src/contract/subject.ts";
import { judgeCodes, partyOf } from "../../src/judge/codes.ts";

const moved = [
  "agent-exits-after-prompt",
  "server-says-completed",
  "server-redispatches-on-replay",
  "server-serves-other-bytes",
];
const bad = catalogue.filter((subject) => subject.kind === "bad");

test("at least 60 bad subjects and some honest ones, each with an id of its own", () => {
  expect(bad.length).toBeGreaterThanOrEqual(60);
  expect(catalogue.length - bad.length).toBeGreaterThanOrEqual(10);
  expect(new Set(catalogue.map((subject) => subject.id)).size).toBe(catalogue.length);
});

test("every code is one a run can end with, and the blame agrees with the judges", () => {
  for (const subject of bad) {
    expect([
      subject.code,
      Object.hasOwn(judgeCodes, subject.code) || /^(tool|http|service)_[a-z_]+$/.test(subject.code),
    ]).toEqual([subject.code, true]);
    // Further evidence moves the blame of these from the seat that showed them to the one that caused them.
    if (moved.includes(subject.id)) continue;
    expect([subject.id, partyOf(subject.code)]).toEqual([subject.id, subject.party]);
  }
});

test("every consumer rule of the seed has a subject that breaks it", () => {
  const covered = new Set<string>(bad.map((subject) => subject.code));
  // A log too long only after the end needs a writer that outlives its leader; the harness's own tests carry it.
  const elsewhere = ["structured_log_limit", "structured_log_frames_lost"];
  const wanted = Object.keys(judgeCodes).filter((code) => partyOf(code) === "consumer" && !elsewhere.includes(code));
  expect(wanted.filter((code) => !covered.has(code))).toEqual([]);
});

test("each subject's file is valid for the inner door and names one misbehaviour", () => {
  for (const subject of catalogue) {
    const file = Subject.parse(subjectFile(subject));
    expect(Object.values(file.misbehave)).toEqual([subject.misbehaviour]);
  }
});

test("the table in the docs is the catalogue", () => {
  const docs = readFileSync(new URL("../../docs/calibration.md", import.meta.url), "utf8");
  expect(docs).toContain(`<!-- catalogue -->\n${catalogueMarkdown()}\n<!-- /catalogue -->`);
});
