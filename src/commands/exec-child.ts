// Hidden: becomes the program it is given, bound to die with the relay that started it.
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "exec-child",
    description: "Become a program that ends when the process that started it ends",
    examples: ["proctor exec-child 1234 -- /usr/bin/cat"],
    hidden: true,
  },
  args: { parent: { type: "positional", description: "The process to end with", required: true } },
  rest: "required",
  async run({ args, rest }) {
    const { dieWithParent } = await import("../base/subreaper.ts");
    const { execProgram } = await import("../base/exec-program.ts");
    const [program = "", ...words] = rest;
    // A parent that is already gone will never trigger the signal; then the program must not begin at all.
    if (dieWithParent(Number(args.parent))) execProgram(program, words);
    return 127;
  },
});
