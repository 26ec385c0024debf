// `proctor experience propose|list|approve|promote|reconcile`: a lesson becomes a memory or a Skill, on approval of one
// exact version for one exact destination. The answer, failed or not, is one line of JSON on stdout.
import { codeOf } from "../base/failure.ts";
import { writeWhole } from "../base/output.ts";
import { defineStrictCommand } from "./strict-command.ts";

const text = (valueHint: string, description: string) =>
  ({ type: "string", required: true, valueHint, description }) as const;
const config = text("FILE", "Private configuration of the conversation.");
const proposal = text("ID", "Proposal that list shows.");
const choice = {
  config,
  proposal,
  version: text("SHA256", "Exact version that list shows."),
  destination: text("WHERE", "memory:KEY or skill:NAME."),
  expected: text("STATE", "Revision (memory) or SHA-256 (skill) that is there now, or absent."),
};
const sample = "--config C --proposal ID --version SHA --destination memory:KEY --expected absent";

const propose = defineStrictCommand({
  meta: {
    name: "experience propose",
    description: "Store a candidate as a proposal of the configured Session.",
    examples: ['proctor experience propose --config C --origin operator --text "Run the linter first."'],
  },
  args: { config, origin: text("WHO", "operator or host."), text: text("TEXT", "The lesson itself.") },
  async run({ args }) {
    return await answer(async () => {
      const { propose } = await import("../hooks/experience/experience.ts");
      const { Failure } = await import("../base/failure.ts");
      if (args.origin !== "operator" && args.origin !== "host") throw new Failure("experience_text_invalid");
      return await propose({ origin: args.origin, text: args.text }, { configPath: args.config });
    });
  },
});

const list = defineStrictCommand({
  meta: {
    name: "experience list",
    description: "Show the candidates of the Session and how far each is.",
    examples: ["proctor experience list --config /home/me/.webcodex/observe.json"],
  },
  args: { config },
  async run({ args }) {
    const { list } = await import("../hooks/experience/experience.ts");
    return await answer(() => list({ configPath: args.config }));
  },
});

const approve = defineStrictCommand({
  meta: {
    name: "experience approve",
    description: "Approve one version for one destination. Writes nothing there.",
    examples: [`proctor experience approve ${sample}`],
  },
  args: choice,
  async run({ args }) {
    const { approve } = await import("../hooks/experience/experience.ts");
    return await answer(async () => await approve(await choiceOf(args), { configPath: args.config }));
  },
});

const promote = defineStrictCommand({
  meta: {
    name: "experience promote",
    description: "Carry out exactly what was approved, once.",
    examples: [`proctor experience promote ${sample}`],
  },
  args: choice,
  async run({ args }) {
    const { promote } = await import("../hooks/experience/experience.ts");
    return await answer(async () => await promote(await choiceOf(args), { configPath: args.config }));
  },
});

const reconcile = defineStrictCommand({
  meta: {
    name: "experience reconcile",
    description: "Look at the destination of a promotion without an outcome. Writes nothing there.",
    examples: ["proctor experience reconcile --config C --proposal ID"],
  },
  args: { config, proposal },
  async run({ args }) {
    const { reconcile } = await import("../hooks/experience/experience.ts");
    return await answer(() => reconcile(args.proposal, { configPath: args.config }));
  },
});

export default defineStrictCommand({
  meta: {
    name: "experience",
    description: "Promote a lesson on explicit approval.",
    examples: ["proctor experience list --config /home/me/.webcodex/observe.json"],
  },
  words: {
    propose: async () => ({ default: propose }),
    list: async () => ({ default: list }),
    approve: async () => ({ default: approve }),
    promote: async () => ({ default: promote }),
    reconcile: async () => ({ default: reconcile }),
  },
});

interface ChoiceWords {
  readonly proposal: string;
  readonly version: string;
  readonly destination: string;
  readonly expected: string;
}

async function choiceOf(words: ChoiceWords) {
  const { parseDestination } = await import("../hooks/experience/destination.ts");
  const destination = parseDestination(words.destination, words.expected);
  return { proposal: words.proposal, version: words.version, destination };
}

async function answer(work: () => Promise<object>): Promise<number> {
  const { compactAscii } = await import("../hooks/python-json.ts");
  const { hooksCodes } = await import("../hooks/codes.ts");
  try {
    const value = (await work()) as { status?: string };
    writeWhole(1, `${compactAscii(value as Parameters<typeof compactAscii>[0])}\n`);
    return value.status === "unknown" || value.status === "not_applied" ? 1 : 0;
  } catch (error) {
    const code = codeOf(error);
    const reason = Object.hasOwn(hooksCodes, code) ? (code as keyof typeof hooksCodes) : "experience_unconfirmed";
    writeWhole(1, `${compactAscii({ status: "failed", reason, message: hooksCodes[reason] })}\n`);
    return 1;
  }
}
