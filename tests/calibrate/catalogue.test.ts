// The catalogue: enough subjects, told apart, covering the judges' codes, and equal to the table in the docs.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { beyondMarkdown, beyondSubjects } from "../../src/calibrate/beyond-subjects.ts";
import { catalogue, subjectFile } from "../../src/calibrate/catalogue.ts";
import { catalogueMarkdown } from "../../src/calibrate/table.ts";
import { Subject } from "../../src/contract/subject.ts";
import { judgeCodes, partyOf } from "../../src/judge/codes.ts";

const moved = [
  "agent-exits-after-prompt",
  "server-says-completed",
  "server-redispatches-on-replay",
  "server-serves-other-bytes",
  "server-ends-the-run-too-soon",
  "agent-repeats-its-instruction",
  "agent-floods-the-relay",
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

test("every code of the judge is the answer to a subject, or is named with the reason why it can be to none", () => {
  const covered = new Set<string>(bad.map((subject) => subject.code));
  const open = Object.keys(judgeCodes).filter((code) => !covered.has(code));
  // Both ways: no code is forgotten, and none is excused that a subject reaches.
  expect(open.sort()).toEqual(Object.keys(beyondSubjects).sort());
  for (const why of Object.values(beyondSubjects)) expect(why.length).toBeGreaterThan(40);
});

test("each subject's file is valid for the inner door and names one misbehaviour", () => {
  for (const subject of catalogue) {
    const file = Subject.parse(subjectFile(subject));
    expect(Object.values(file.misbehave)).toEqual([subject.misbehaviour]);
  }
});

test("the tables in the docs are the catalogue and the codes beyond it", () => {
  const docs = readFileSync(new URL("../../docs/calibration.md", import.meta.url), "utf8");
  expect(docs).toContain(`<!-- catalogue -->\n${catalogueMarkdown()}\n<!-- /catalogue -->`);
  expect(docs).toContain(`<!-- beyond -->\n${beyondMarkdown()}\n<!-- /beyond -->`);
});
