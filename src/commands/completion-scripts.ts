// The completion scripts of bash, zsh and fish. Each walks the words before the cursor along the command table, offers
// a flag's choices after the flag, and leaves file names to the shell. They run nothing and read nothing.
import { type Completion, completionTable } from "./completion-table.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The script for one shell. */
export async function completionScript(shell: Shell): Promise<string> {
  return writers[shell](await completionTable());
}

const writers: Readonly<Record<Shell, (list: readonly Completion[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Words that follow a flag: [path and flag, choices]; no choices means file names. */
function values(list: readonly Completion[]): Array<readonly [string, readonly string[]]> {
  return list.flatMap((one) =>
    one.flags.flatMap((flag) =>
      flag.value === "none" ? [] : [[`${one.path} ${flag.name}`, flag.value === "free" ? [] : flag.value] as const],
    ),
  );
}

function walk(list: readonly Completion[], indent: string): string {
  return list
    .slice(1)
    .map((one) => `${indent}"${one.path}") path_so_far="${one.path}" ;;`)
    .join("\n");
}

function bashScript(list: readonly Completion[]): string {
  const valueLines = values(list).map(([key, choices]) => `    "${key}") words="${choices.join(" ")}"; value=1 ;;`);
  const wordLines = list.map((one) => {
    const words = [...one.words, ...one.flags.map((flag) => flag.name)].join(" ");
    return `    "${one.path}") words="${words}"; files=${one.files ? 1 : 0} ;;`;
  });
  return `# bash completion for proctor
_proctor() {
  local path_so_far="proctor" words="" value=0 files=0 current="\${COMP_WORDS[COMP_CWORD]}" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path_so_far \${COMP_WORDS[i]}" in
      *" --") return ;;
${walk(list, "      ")}
    esac
  done
  case "$path_so_far \${COMP_WORDS[COMP_CWORD - 1]}" in
${valueLines.join("\n")}
  esac
  if ((value == 0)); then
    case "$path_so_far" in
${wordLines.map((line) => `  ${line}`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if ((files == 1)) && [[ $current != -* ]]; then
    local name
    while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$current")
  fi
}
complete -o default -F _proctor proctor
`;
}

/** Text inside single quotes of zsh and fish; our descriptions are ours, this keeps an apostrophe harmless. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "").replaceAll("'", "’")}'`;
}

function zshScript(list: readonly Completion[]): string {
  const valueLines = values(list).map(([key, choices]) => {
    const offer = choices.length === 0 ? "_files" : `compadd -- ${choices.join(" ")}`;
    return `    "${key}") ${offer}; return ;;`;
  });
  const wordLines = list.map((one) => {
    const described = (name: string) => list.find((other) => other.path === `${one.path} ${name}`)?.description ?? "";
    const offers = [
      ...one.words.map((name) => quoted(`${name}:${described(name)}`)),
      ...one.flags.map((flag) => quoted(`${flag.name}:${flag.description}`)),
    ];
    return `    "${one.path}") offers=(${offers.join(" ")}); files=${one.files ? 1 : 0} ;;`;
  });
  return `#compdef proctor
# zsh completion for proctor
_proctor() {
  local path_so_far="proctor" files=0 i
  local -a offers
  for ((i = 2; i < CURRENT; i++)); do
    case "$path_so_far \${words[i]}" in
      *" --") _files; return ;;
${walk(list, "      ")}
    esac
  done
  case "$path_so_far \${words[CURRENT - 1]}" in
${valueLines.join("\n")}
  esac
  case "$path_so_far" in
${wordLines.join("\n")}
  esac
  _describe 'proctor' offers
  ((files)) && _files
  return 0
}
if [[ $funcstack[1] == _proctor ]]; then _proctor; else compdef _proctor proctor; fi
`;
}

function fishScript(list: readonly Completion[]): string {
  const lines = list.flatMap((one) => {
    const here = `complete -c proctor -n '__proctor_at "${one.path}"'`;
    const described = (name: string) => list.find((other) => other.path === `${one.path} ${name}`)?.description ?? "";
    return [
      ...one.words.map((name) => `${here} -a ${name} -d ${quoted(described(name))}`),
      ...one.flags.map((flag) => {
        const value = flag.value === "none" ? "" : flag.value === "free" ? " -rF" : ` -xa '${flag.value.join(" ")}'`;
        return `${here} -l ${flag.name.slice(2)}${value} -d ${quoted(flag.description)}`;
      }),
      ...(one.files ? [`${here} -F`] : []),
    ];
  });
  return `# fish completion for proctor
function __proctor_at
  set -l path proctor
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
${list
  .slice(1)
  .map((one) => `      case "${one.path}"\n        set path "${one.path}"`)
  .join("\n")}
    end
  end
  test "$path" = "$argv[1]"
end
complete -c proctor -f
${lines.join("\n")}
`;
}
