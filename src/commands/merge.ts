// `proctor merge DIR…`: verify many reports and join them into one summary and one page.
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "merge",
    description: "Verify many reports and join them into one page.",
    examples: ["proctor merge host-a host-b --html all.html"],
    notes: ["Ends with 0 when every report passed and agrees with its facts and files."],
  },
  args: {
    paths: {
      type: "positional",
      many: true,
      valueHint: "DIR",
      required: true,
      description: "Report folders or files.",
    },
    html: { type: "string", valueHint: "F", description: "Write one page over all of them to this file." },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    const { merge, renderMerged } = await import("../evidence/merge.ts");
    const { writeEvidence } = await import("../evidence/write.ts");
    const merged = merge(args.paths);
    if (args.html !== undefined) writeEvidence(args.html, renderMerged(merged));
    const { passed, reports, failed, unreadable } = merged;
    printResult(merged, {
      json: args.json,
      text: () => `${passed} of ${reports} passed, ${failed} failed, ${unreadable} could not be read`,
    });
    return merged.all_passed ? exitNumbers.done : exitNumbers.failed;
  },
});
