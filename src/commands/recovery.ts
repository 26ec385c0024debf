// `proctor recovery discover|associate|list|forget`: which folders may read which Session's saved state. The answer,
// failed or not, is one line of JSON on stdout; a failure's sentence and code go to stderr as well.
import { codeOf } from "../base/failure.ts";
import { writeWhole } from "../base/output.ts";
import { currentFolder } from "../base/self.ts";
import { tell } from "./result.ts";
import { sentenceOf } from "./sentences.ts";
import { defineStrictCommand } from "./strict-command.ts";

const registry = {
  type: "string",
  required: true,
  valueHint: "FILE",
  description: "Private registry of associations.",
} as const;
const projectRoot = {
  type: "string",
  required: true,
  valueHint: "DIR",
  description: "Absolute root of the project.",
} as const;

const discover = defineStrictCommand({
  meta: {
    name: "recovery discover",
    description: "List the Sessions of exactly one project root. Writes nothing.",
    examples: ["proctor recovery discover --registry /home/me/.webcodex/registry.json --project-root /home/me/work"],
  },
  args: { registry, "project-root": projectRoot },
  async run({ args }) {
    const { discover } = await import("../hooks/recovery.ts");
    const options = { registryPath: absolute(args.registry) };
    return await answer("discover", () => discover(absolute(args["project-root"]), options));
  },
});

const associate = defineStrictCommand({
  meta: {
    name: "recovery associate",
    description: "Let folders read one Session's saved state. Binds no writer.",
    examples: [
      "proctor recovery associate --registry R --project-root /home/me/work --session wc_sess_1 --entry-root /home/me/work",
    ],
  },
  args: {
    registry,
    "project-root": projectRoot,
    session: { type: "string", required: true, valueHint: "ID", description: "Session that discover listed." },
    "entry-root": {
      type: "string",
      required: true,
      repeatable: true,
      valueHint: "DIR",
      description: "Folder that may read it.",
    },
    "local-session": { type: "string", valueHint: "ID", description: "Only this conversation (default: any)." },
  },
  async run({ args }) {
    const { associate } = await import("../hooks/recovery.ts");
    const wanted = {
      projectRoot: absolute(args["project-root"]),
      session: args.session,
      entryRoots: args["entry-root"].map(absolute),
      localSession: args["local-session"] ?? "",
    };
    return await answer("associate", () => associate(wanted, { registryPath: absolute(args.registry) }));
  },
});

const list = defineStrictCommand({
  meta: {
    name: "recovery list",
    description: "Show the bindings of the registry.",
    examples: ["proctor recovery list --registry /home/me/.webcodex/registry.json"],
  },
  args: { registry },
  async run({ args }) {
    const { listBindings } = await import("../hooks/recovery.ts");
    return await answer("list", () => listBindings({ registryPath: absolute(args.registry) }));
  },
});

const forget = defineStrictCommand({
  meta: {
    name: "recovery forget",
    description: "Remove the bindings of a Session from the registry; the Session itself stays.",
    examples: ["proctor recovery forget --registry /home/me/.webcodex/registry.json --session wc_sess_1"],
  },
  args: {
    registry,
    session: { type: "string", required: true, valueHint: "ID", description: "Session whose bindings go." },
    "local-session": { type: "string", valueHint: "ID", description: "Only the binding of this conversation." },
  },
  async run({ args }) {
    const { forget } = await import("../hooks/recovery.ts");
    const wanted = { session: args.session, localSession: args["local-session"] };
    return await answer("forget", () => forget(wanted, { registryPath: absolute(args.registry) }));
  },
});

export default defineStrictCommand({
  meta: {
    name: "recovery",
    description: "Associate folders with saved work.",
    examples: ["proctor recovery discover --registry /home/me/.webcodex/registry.json --project-root /home/me/work"],
  },
  words: {
    discover: async () => ({ default: discover }),
    associate: async () => ({ default: associate }),
    list: async () => ({ default: list }),
    forget: async () => ({ default: forget }),
  },
});

type Word = "discover" | "associate" | "list" | "forget";

async function answer(word: Word, work: () => unknown): Promise<number> {
  const { plainLine } = await import("../hooks/python-json.ts");
  try {
    const value = (await work()) as Parameters<typeof plainLine>[0];
    writeWhole(1, `${plainLine(value)}\n`);
    return 0;
  } catch (error) {
    const known = codeOf(error);
    const reason = known === "internal" ? "read_unconfirmed" : known;
    const message = await sentenceOf(reason);
    writeWhole(1, `${await failureLine(word, error, { reason, message })}\n`);
    tell(`proctor recovery ${word}: ${message} [${reason}]`);
    return 1;
  }
}

/** An agent's host reads what discover and associate say, so they fail in the hook's own form. */
async function failureLine(word: Word, error: unknown, told: { reason: string; message: string }): Promise<string> {
  if (word === "discover" || word === "associate") return (await import("../hooks/recover.ts")).failureText(error);
  return (await import("../hooks/python-json.ts")).plainLine({ status: "failed", ...told });
}

function absolute(path: string): string {
  return path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path) ? path : `${currentFolder()}/${path}`;
}
