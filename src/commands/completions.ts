// `proctor completions SHELL`: a completion script made from the command table, so that it can never lag behind.
import { exitNumbers } from "./exit-numbers.ts";
import { printText } from "./result.ts";
import { defineStrictCommand, type StrictCommand } from "./strict-command.ts";

export interface Completion {
  readonly path: string;
  readonly description: string;
  readonly words: readonly string[];
}

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
    const { commandTable } = await import("./table.ts");
    const list = await completionsOf(commandTable);
    printText(scripts[args.shell as keyof typeof scripts](list));
    return exitNumbers.done;
  },
});

/** Every command path with the words that may follow it. */
export async function completionsOf(
  table: Readonly<Record<string, () => Promise<{ readonly default: StrictCommand }>>>,
  path = "proctor",
): Promise<Completion[]> {
  const list: Completion[] = [];
  const words: string[] = [];
  for (const [name, load] of Object.entries(table)) {
    const command = (await load()).default;
    if (command.meta.hidden === true) continue;
    words.push(name);
    const below = await completionsOf(command.words ?? {}, `${path} ${name}`);
    const own = below.find((one) => one.path === `${path} ${name}`);
    list.push(...below.filter((one) => one !== own));
    list.push({
      path: `${path} ${name}`,
      description: command.meta.description,
      words: [...(own?.words ?? []), ...flagsOf(command), "--help"],
    });
  }
  return [...list, { path, description: "", words }];
}

function flagsOf(command: StrictCommand): string[] {
  return Object.entries(command.args)
    .filter(([, one]) => one.type !== "positional" && one.hidden !== true)
    .map(([name]) => `--${name}`);
}

function caseLines(list: readonly Completion[]): string {
  return list.map((one) => `    "${one.path}") words="${one.words.join(" ")}" ;;`).join("\n");
}

/** The command path so far is the words before the cursor that are no flags, as long as the table knows them. */
const scripts = {
  bash: (list: readonly Completion[]) => `_proctor() {
  local path="proctor" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
${list
  .filter((one) => one.path !== "proctor")
  .map((one) => `    "${one.path}") path="${one.path}" ;;`)
  .join("\n")}
    esac
  done
  case "$path" in
${caseLines(list)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _proctor proctor
`,
  zsh: (list: readonly Completion[]) => `#compdef proctor
_proctor() {
  local path_so_far="proctor" words_here="" i
  for ((i = 2; i < CURRENT; i++)); do
    case "$path_so_far \${words[i]}" in
${list
  .filter((one) => one.path !== "proctor")
  .map((one) => `    "${one.path}") path_so_far="${one.path}" ;;`)
  .join("\n")}
    esac
  done
  case "$path_so_far" in
${caseLines(list).replaceAll(" words=", " words_here=")}
  esac
  compadd -- \${=words_here}
}
compdef _proctor proctor
`,
  fish: (list: readonly Completion[]) => `function __proctor_path
  set -l path proctor
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
${list
  .filter((one) => one.path !== "proctor")
  .map((one) => `      case "${one.path}"\n        set path "${one.path}"`)
  .join("\n")}
    end
  end
  echo $path
end
complete -c proctor -f
${list.map((one) => `complete -c proctor -n 'test (__proctor_path) = "${one.path}"' -a "${one.words.join(" ")}"`).join("\n")}
`,
} as const;
