// The completion scripts in the real shells. A shell that this machine lacks is skipped, visibly.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { proctorBinary } from "../support/binary.ts";
import { type TempFolder, tempFolder } from "../support/temp-folder.ts";

/** A shell reads some hundred files before it completes its first word, on a machine that does other things as well. */
const patienceMs = 240_000;
const path = "/usr/local/bin:/usr/bin:/bin";
const which = (shell: string) => Bun.which(shell, { PATH: path });

/** What is typed (the last word is completed) and what must be offered, and what must not. */
const cases: ReadonlyArray<{ typed: readonly string[]; offers: readonly string[]; not?: string }> = [
  { typed: ["acc"], offers: ["accept"], not: "gateway" },
  { typed: ["gateway", "is"], offers: ["issue"], not: "revoke" },
  { typed: ["accept", "--json", "--out"], offers: ["--output-dir"], not: "--json" },
  { typed: ["accept", "--fixture", ""], offers: ["auto", "python", "typescript"], not: "--json" },
  { typed: ["completions", ""], offers: ["bash", "zsh", "fish"] },
  { typed: ["verify", "pla"], offers: ["planted-file"], not: "--json" },
  { typed: ["relay", "--", "pla"], offers: ["planted-file"], not: "--audit" },
];

async function prepared(shell: string): Promise<TempFolder> {
  const dir = await tempFolder();
  const script = Bun.spawnSync([proctorBinary, "completions", shell], { env: {}, cwd: dir.path });
  expect(script.exitCode).toBe(0);
  writeFileSync(`${dir.path}/proctor.${shell}`, script.stdout);
  mkdirSync(`${dir.path}/work`);
  writeFileSync(`${dir.path}/work/planted-file`, "");
  return dir;
}

function ask(shell: string, dir: string, args: readonly string[]): string {
  const run = Bun.spawnSync([which(shell)!, ...args], {
    cwd: `${dir}/work`,
    env: { PATH: path, HOME: dir, TERM: "dumb" },
    stdin: "ignore",
    stderr: "pipe",
    timeout: 200_000,
  });
  expect(run.stderr.toString()).toBe("");
  return run.stdout.toString();
}

function check(output: string, one: (typeof cases)[number]): void {
  const offered = output.split(/\s+/);
  for (const word of one.offers) expect(offered, one.typed.join(" ")).toContain(word);
  if (one.not !== undefined) expect(offered, one.typed.join(" ")).not.toContain(one.not);
}

/** Every case in one process of the shell: their answers, in order, parted by a line `CASE`. */
function checkAll(output: string, read: (answer: string) => string = (answer) => answer): void {
  const answers = output.split("CASE");
  expect(answers.length).toBe(cases.length + 1);
  for (const [n, one] of cases.entries()) check(read(answers[n]!), one);
}

test.skipIf(which("bash") === null)(
  "bash completes commands, flags, choices and file names",
  async () => {
    await using dir = await prepared("bash");
    const program = `source ${dir.path}/proctor.bash
      COMP_WORDS=(proctor)
      for word in "$@"; do
        if [ "$word" != CASE ]; then COMP_WORDS+=("$word"); continue; fi
        COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
        _proctor
        [ "\${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")) # what -o default does
        printf '%s\\n' "\${COMPREPLY[@]}" CASE
        COMP_WORDS=(proctor)
      done`;

    const words = cases.flatMap((one) => [...one.typed, "CASE"]);
    checkAll(ask("bash", dir.path, ["--norc", "-c", program, "bash", ...words]));
  },
  patienceMs,
);

test.skipIf(which("fish") === null)(
  "fish completes commands, flags, choices and file names",
  async () => {
    await using dir = await prepared("fish");
    const program = `source ${dir.path}/proctor.fish; for line in $argv; complete -C $line; echo CASE; end`;

    const lines = cases.map((one) => `proctor ${one.typed.join(" ")}`);
    checkAll(ask("fish", dir.path, ["--no-config", "-c", program, "--", ...lines]));
  },
  patienceMs,
);

test.skipIf(which("zsh") === null)("zsh completes commands, flags, choices and file names", zshCompletes, patienceMs);

async function zshCompletes(): Promise<void> {
  await using dir = await prepared("zsh");
  // compadd is where every zsh completion ends; a completion widget inside a pseudo-terminal calls the real system.
  writeFileSync(
    `${dir.path}/inner.zsh`,
    `PROMPT=; unset zle_bracketed_paste; autoload -U compinit; compinit -D -u; source ${dir.path}/proctor.zsh
    zstyle ':completion:*' list-colors ''; zstyle ':completion:*' completer _complete
    compadd() {
      if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return $?; fi
      local -a found; builtin compadd -A found "$@"; builtin compadd "$@"; print -lr -- "OFFER "$^found
    }
    done_now() { print -r -- "ANSWER ENDS"; comppostfuncs=(done_now) } # the system empties the list each time
    comppostfuncs=(done_now)
    bindkey '^I' complete-word; print -r -- "READY"`,
  );
  const program = `zmodload zsh/zpty; zpty inner zsh -f -i
    zpty -w inner "source ${dir.path}/inner.zsh"
    zpty -r inner line '*READY*' || exit 1
    for typed in "$@"; do
      zpty -w -n inner $'\\025'"$typed"$'\\t'
      zpty -r inner line '*ANSWER ENDS*' || exit 1
      print -r -- "$line"CASE
    done
    zpty -d inner`;

  const typed = cases.map((one) => `proctor ${one.typed.join(" ")}`);
  const output = ask("zsh", dir.path, ["-f", "-c", program, "zsh", ...typed]);
  checkAll(output, (answer) => [...answer.matchAll(/OFFER (\S+)/g)].map((match) => match[1]).join(" "));
}
