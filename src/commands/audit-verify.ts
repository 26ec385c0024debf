// `proctor audit verify F`: whether every record of the file is whole and follows from the one before it, and what a
// file looks like where that is not so.
import { counted } from "../base/counted.ts";
import { readRegularFile } from "../base/private-files.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "verify",
    description: "Check that the records of an audit file are whole and follow from each other",
    examples: [
      "proctor audit verify audit.jsonl --json",
      "proctor audit verify audit.jsonl --digest 7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730",
    ],
    notes: [
      "Ends with 0 for a file that is whole to its end, with 1 for one that was changed, is not complete, or has another digest than the one given.",
      "Whoever can write the file can also make a new chain; only the digest, kept elsewhere, tells that.",
    ],
  },
  args: {
    file: { type: "positional", description: "The audit file", required: true },
    digest: { type: "string", description: "The SHA-256 that the file had, as a report has it", valueHint: "HEX" },
    json: { type: "boolean", description: "Print JSON also on a terminal" },
  },
  async run({ args }) {
    if (args.digest !== undefined && !/^[0-9a-f]{64}$/.test(args.digest)) {
      throw new UsageError("--digest takes 64 lower-case hexadecimal digits.");
    }
    const { auditMaxBytes, readAudit } = await import("../contract/audit.ts");
    const { auditSigns, signOf } = await import("../contract/audit-sign.ts");
    const bytes = readRegularFile(args.file, { maxBytes: auditMaxBytes });
    const reading = readAudit(bytes);
    const sign = signOf(bytes, reading);
    const digestMatches = args.digest === undefined ? null : args.digest === reading.sha256;
    const { records, ...facts } = reading;
    const events: Record<string, number> = {};
    for (const { event } of records) events[event] = (events[event] ?? 0) + 1;
    const text = (): string => {
      const lines = [`${reading.intact ? "intact" : `${reading.fault} at line ${reading.line ?? "-"}`}`];
      if (sign !== null) lines.push(`${sign}: ${auditSigns[sign]}`);
      else if (!reading.complete) lines.push("The relay stopped noting at the file's limit.");
      if (digestMatches === false) lines.push("The digest is another one: this is not the file that was recorded.");
      return [...lines, `${counted(records.length, "record")}, sha256 ${reading.sha256}`].join("\n");
    };
    printResult(
      { ...facts, sign, digest_matches: digestMatches, count: records.length, events },
      { json: args.json, text },
    );
    return reading.complete && digestMatches !== false ? exitNumbers.done : exitNumbers.failed;
  },
});
