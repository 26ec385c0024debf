// `proctor handoff read`: the saved state of exactly the configured Session, as one line of JSON.
import { codeOf } from "../base/failure.ts";
import { writeWhole } from "../base/output.ts";
import { currentFolder } from "../base/self.ts";
import { defineStrictCommand } from "./strict-command.ts";

const read = defineStrictCommand({
  meta: {
    name: "handoff read",
    description: "Read the saved state of the configured Session.",
    examples: ["proctor handoff read --config /home/me/.webcodex/observe.json"],
    notes: [
      "Run it inside the configured project. Success says that a brief was obtained, not that anything is done:",
      "look at the current rules, files, git state, jobs and unknown operations first.",
      "`acceptance` is advice: ready_for_review does not mean done.",
    ],
  },
  args: { config: { type: "string", required: true, valueHint: "FILE", description: "Private configuration." } },
  async run({ args }) {
    const { handoffOf } = await import("../hooks/handoff.ts");
    const { compactAscii, plainLine } = await import("../hooks/python-json.ts");
    const { hooksCodes } = await import("../hooks/codes.ts");
    try {
      const evidence = await handoffOf(args.config, { currentFolder: currentFolder() });
      writeWhole(1, `${plainLine(evidence, { sorted: true })}\n`);
      return 0;
    } catch (error) {
      const code = codeOf(error);
      const reason = Object.hasOwn(hooksCodes, code) ? code : "handoff_read_unconfirmed";
      writeWhole(2, `${compactAscii({ status: "unavailable", reason })}\n`);
      return 1;
    }
  },
});

export default defineStrictCommand({
  meta: {
    name: "handoff",
    description: "Read saved state on purpose.",
    examples: ["proctor handoff read --config /home/me/.webcodex/observe.json"],
  },
  words: { read: async () => ({ default: read }) },
});
