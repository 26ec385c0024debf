// `proctor self verify SUMS`: is this very file one of those in a checksum list that was published beside it.
import { sha256FileHex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { readRegularFile } from "../base/private-files.ts";
import { executablePath } from "../base/self.ts";
import type { commandCodes } from "./codes.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

const maxSumsBytes = 1_048_576;

export default defineStrictCommand({
  meta: {
    name: "verify",
    description: "Compare this executable with a list of checksums.",
    examples: ["proctor self verify SHA256SUMS"],
  },
  args: {
    sums: {
      type: "positional",
      valueHint: "SUMS",
      required: true,
      description: "File with lines of `<sha256>  <name>`.",
    },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  run({ args }) {
    const list = parseSums(new TextDecoder().decode(readRegularFile(args.sums, { maxBytes: maxSumsBytes })));
    const sha256 = sha256FileHex(executablePath());
    const name = list.get(sha256);
    if (name === undefined) throw new Failure<keyof typeof commandCodes>("self_not_listed");
    printResult(
      { verified: true, sha256, name },
      { json: args.json, text: () => `This is ${name}, as listed (${sha256}).` },
    );
    return exitNumbers.done;
  },
});

/** Reads `<64 hex>  <name>` lines (a `*` before the name is allowed). Throws `self_sums_invalid` on any other line. */
export function parseSums(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const match = /^([0-9a-f]{64}) [ *]([A-Za-z0-9._-]{1,100})$/.exec(line.trimEnd());
    if (match === null) throw new Failure<keyof typeof commandCodes>("self_sums_invalid");
    found.set(match[1]!, match[2]!);
  }
  return found;
}
