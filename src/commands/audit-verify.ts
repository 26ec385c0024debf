// `proctor audit verify F`: whether every record of the file is whole and follows from the one before it.
import { readRegularFile } from "../base/private-files.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "verify",
    description: "Check that the records of an audit file are whole and follow from each other",
    examples: ["proctor audit verify audit.jsonl --json"],
    notes: ["A record cut off at the very end shows as `complete: false`, because the adapter's exit is then missing."],
  },
  args: {
    file: { type: "positional", description: "The audit file", required: true },
    json: { type: "boolean", description: "Print JSON also on a terminal" },
  },
  async run({ args }) {
    const { auditMaxBytes, readAudit } = await import("../contract/audit.ts");
    const reading = readAudit(readRegularFile(args.file, { maxBytes: auditMaxBytes }));
    const { records, ...facts } = reading;
    const events: Record<string, number> = {};
    for (const { event } of records) events[event] = (events[event] ?? 0) + 1;
    const text = (): string =>
      reading.intact
        ? `intact: ${records.length} records${reading.complete ? "" : ", but not complete"}\nsha256 ${reading.sha256}`
        : `${reading.fault} at line ${reading.line ?? "-"}`;
    printResult({ ...facts, count: records.length, events }, { json: args.json, text });
    return reading.intact ? exitNumbers.done : exitNumbers.failed;
  },
});
