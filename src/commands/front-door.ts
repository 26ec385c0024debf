// From argv to one command's exit number: finds the command, prints help, turns refusals into one sentence.
import { codeOf, type Failure } from "../base/failure.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { commandList, helpOf, wrap } from "./help.ts";
import { printText, tell, terminalWidth } from "./result.ts";
import { sentenceOf } from "./sentences.ts";
import { readArguments, UsageError } from "./strict-args.ts";
import type { StrictCommand } from "./strict-command.ts";
import { commandTable } from "./table.ts";

/** Runs `words` (argv without the program) and returns the exit number; never throws. */
export async function frontDoor(words: readonly string[]): Promise<number> {
  const [name, ...further] = words;
  if (name === undefined || name === "--help" || name === "-h" || name === "help")
    return await answered("proctor", () => overview(name === undefined));
  if (name === "--version") return await frontDoor(["version"]);
  const load = Object.hasOwn(commandTable, name) ? commandTable[name] : undefined;
  if (load === undefined) return usage("No such command.", "proctor");
  return await runCommand((await load()).default, { path: `proctor ${name}`, words: further });
}

interface Call {
  readonly path: string;
  readonly words: readonly string[];
}

async function runCommand(command: StrictCommand, call: Call): Promise<number> {
  const [first, ...further] = call.words;
  if (command.words !== undefined && first !== undefined && Object.hasOwn(command.words, first)) {
    const inner = (await command.words[first]!()).default;
    return await runCommand(inner, { path: `${call.path} ${first}`, words: further });
  }
  const dashes = call.words.indexOf("--");
  const own = dashes < 0 ? call.words : call.words.slice(0, dashes);
  if (asksHelp(command, own)) {
    return await answered(call.path, async () => {
      printText(await helpOf(command, call.path, terminalWidth()));
      return exitNumbers.done;
    });
  }
  const { run } = command;
  if (run === undefined) return usage("Name one of its commands.", call.path);
  return await answered(call.path, async () => await run(readArguments(command, call.words)));
}

/** Turns whatever the work throws into one sentence and its exit number. */
async function answered(path: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UsageError) return usage(error.message, path);
    const code = codeOf(error);
    tell(`${path}: ${await sentenceOf(code)} [${code}]`);
    if (code === "internal" && process.env.PROCTOR_DEBUG === "1") console.error((error as Failure).stack);
    return exitNumbers.failed;
  }
}

/** `--help` counts unless it belongs to a program named by a positional (`relay F CMD --help`). */
function asksHelp(command: StrictCommand, own: readonly string[]): boolean {
  const at = own.findIndex((word) => word === "--help" || word === "-h");
  return at >= 0 && (command.rest === "none" || at === 0);
}

function usage(sentence: string, path: string): number {
  tell(`${path}: ${sentence} Try \`${path} --help\`.`);
  return exitNumbers.usage;
}

async function overview(wrong: boolean): Promise<number> {
  const lines = [
    ...wrap("Prove, audit and guard coding agents on a test host.", terminalWidth()),
    "",
    "Usage: proctor COMMAND [OPTIONS]",
    "",
    "Commands:",
    ...(await commandList(commandTable, terminalWidth())),
  ];
  lines.push("", "Examples:", "  proctor accept        prove a whole run here, every seat embedded");
  lines.push("  proctor relay --help  what one command takes, and an example", "");
  if (wrong) {
    for (const line of lines) tell(line);
    return exitNumbers.usage;
  }
  printText(lines.join("\n"));
  return exitNumbers.done;
}
