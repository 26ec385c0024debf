// `proctor version`: which build this is, for people in one line and for scripts in JSON.
import { buildFacts } from "../version.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "version",
    description: "Say which build this is.",
    examples: ["proctor version --json"],
  },
  args: { json: { type: "boolean", description: "Print version, commit, Bun version and target as JSON." } },
  run({ args }) {
    const facts = buildFacts();
    printResult(facts, { json: args.json, text: () => `proctor ${facts.version}` });
    return 0;
  },
});
