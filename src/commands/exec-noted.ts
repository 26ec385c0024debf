// Hidden: becomes the program it is given once its starter has noted it; a starter that is gone means: never.
import { ownArguments } from "../base/self.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "exec-noted",
    description: "Become a program as soon as the process that started it says so",
    examples: ["proctor exec-noted 3 -- /usr/bin/cat"],
    hidden: true,
  },
  args: {
    gate: { type: "positional", description: "The inherited descriptor the word comes on", required: true },
    bun: { type: "boolean", description: "Have the program act as Bun" },
  },
  rest: "required",
  async run({ args, rest }) {
    const { passGate } = await import("../base/start-gate.ts");
    if (!(await passGate(args.gate))) return 127;
    const [program = "", ...words] = rest;
    const own = args.bun === true ? null : ownArguments(program, words);
    // Already here: becoming ourselves would only be a second start.
    if (own !== null) return await (await import("./front-door.ts")).frontDoor(own);
    const { execProgram } = await import("../base/exec-program.ts");
    execProgram(program, words, { asBun: args.bun });
    return 127;
  },
});
