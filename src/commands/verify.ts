// `proctor verify DIR|report.json`: recompute a finished run's verdict offline and name everything that does not agree.

import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "verify",
    description: "Recompute the verdict of a finished report from its facts and files, offline.",
    examples: ["proctor verify proctor-20260102T030405Z-1a2b3c", "proctor verify run/report.json --digest $DIGEST"],
    notes: [
      "Ends with 0 when the run passed and nothing was found changed.",
      "Without --digest a rewrite that changes every place consistently cannot be seen.",
    ],
  },
  args: {
    path: { type: "positional", valueHint: "DIR|report.json", required: true, description: "Report folder or file." },
    digest: { type: "string", valueHint: "SHA256", description: "Digest that was printed at the run." },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  async run({ args }) {
    const { verify } = await import("../evidence/verify.ts");
    const { verificationText } = await import("../evidence/verification-text.ts");
    const found = verify(args.path, { digest: args.digest });
    printResult(found, { json: args.json, text: () => verificationText(found) });
    return found.agrees && found.state === "passed" ? exitNumbers.done : exitNumbers.failed;
  },
});
