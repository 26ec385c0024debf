// `proctor standin list`: every misbehaviour by stand-in, with what it does.
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "list",
    description: "Name every way a stand-in can misbehave.",
    examples: ["proctor standin list --json"],
  },
  args: { json: { type: "boolean", description: "Print it as JSON." } },
  async run({ args }) {
    const { misbehaviours } = await import("../standins/misbehaviours.ts");
    printResult(misbehaviours, {
      json: args.json,
      text: () => misbehaviours.map((one) => `${one.seat.padEnd(9)} ${one.id.padEnd(32)} ${one.does}`).join("\n"),
    });
    return 0;
  },
});
