// `proctor completions SHELL`: a completion script made from the command table, so that it can never lag behind.
import { exitNumbers } from "./exit-numbers.ts";
import { printText } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "completions",
    description: "Print a completion script for bash, zsh or fish.",
    examples: [
      'eval "$(proctor completions bash)"',
      "proctor completions fish > ~/.config/fish/completions/proctor.fish",
    ],
  },
  args: {
    shell: { type: "positional", required: true, choices: ["bash", "zsh", "fish"], description: "Which shell." },
  },
  async run({ args }) {
    const { completionScript } = await import("./completion-scripts.ts");
    printText(await completionScript(args.shell as "bash" | "zsh" | "fish"));
    return exitNumbers.done;
  },
});
