// Reads the words of one command. Refuses an unknown flag, an extra word, a flag without its value, a repeated
// flag that is not marked repeatable, and a value outside its choices; each refusal is one clear sentence.
import { parseArgs as readWords } from "citty";
import { visible } from "../base/visible.ts";
import type { ArgumentDefinition, StrictCommand } from "./strict-command.ts";

/** A wrong command line: exit 64, the sentence on stderr. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface ReadArguments {
  readonly args: Record<string, unknown>;
  readonly rest: string[];
}

/** Turns `words` (without the command's own name) into typed values. Throws UsageError. */
export function readArguments(command: StrictCommand, words: readonly string[]): ReadArguments {
  const dashes = words.indexOf("--");
  const own = dashes < 0 ? [...words] : words.slice(0, dashes);
  let rest = dashes < 0 ? [] : words.slice(dashes + 1);
  const flags = new Map<string, string[]>();
  const plain: string[] = [];
  const positionals = Object.entries(command.args).filter(([, one]) => one.type === "positional");
  for (let i = 0; i < own.length; i++) {
    const word = own[i]!;
    if (!word.startsWith("-") || word === "-") {
      if (command.rest !== "none" && plain.length === positionals.length) {
        // `relay F CMD ARGS…`: from the program's name on every word is the program's own, flags and `--` included.
        rest = words.slice(i);
        break;
      }
      plain.push(word);
      continue;
    }
    i += readFlag(command, { own, at: i, flags });
  }
  const args = { ...valuesOf(command, flags), ...positionalsOf(positionals, plain) };
  if (command.rest === "none" && (dashes >= 0 || rest.length > 0))
    throw new UsageError("No words may follow `--` here.");
  if (command.rest === "required" && rest.length === 0) throw new UsageError("Give the program to run after `--`.");
  return { args, rest };
}

interface FlagCursor {
  readonly own: readonly string[];
  readonly at: number;
  readonly flags: Map<string, string[]>;
}

/** Notes one flag and returns how many further words it took. */
function readFlag(command: StrictCommand, cursor: FlagCursor): number {
  const word = cursor.own[cursor.at]!;
  const equals = word.indexOf("=");
  const name = word.slice(2, equals < 0 ? undefined : equals);
  const definition = word.startsWith("--") ? command.args[name] : undefined;
  if (definition === undefined || definition.type === "positional") {
    throw new UsageError(`Unknown flag ${visible(equals < 0 ? word : word.slice(0, equals), 60)}.`);
  }
  const before = cursor.flags.get(name) ?? [];
  if (before.length > 0 && definition.repeatable !== true) throw new UsageError(`--${name} may be given once only.`);
  if (definition.type === "boolean") {
    if (equals >= 0) throw new UsageError(`--${name} takes no value.`);
    cursor.flags.set(name, [""]);
    return 0;
  }
  const value = equals < 0 ? cursor.own[cursor.at + 1] : word.slice(equals + 1);
  if (value === undefined || value === "" || (equals < 0 && value.startsWith("--"))) {
    throw new UsageError(`--${name} needs a value.`);
  }
  checkChoice(`--${name}`, value, definition);
  cursor.flags.set(name, [...before, value]);
  return equals < 0 ? 1 : 0;
}

function checkChoice(name: string, value: string, definition: ArgumentDefinition): void {
  if (definition.choices !== undefined && !definition.choices.includes(value)) {
    throw new UsageError(`${name} takes ${definition.choices.join(", ")}.`);
  }
}

function valuesOf(command: StrictCommand, flags: ReadonlyMap<string, string[]>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, definition] of Object.entries(command.args)) {
    if (definition.type === "positional") continue;
    const given = flags.get(name);
    if (given === undefined && definition.required === true) throw new UsageError(`--${name} is required.`);
    if (definition.type === "boolean") values[name] = given !== undefined;
    else if (definition.repeatable === true) values[name] = given ?? [];
    else if (given !== undefined) values[name] = readOne(name, given[0]!);
  }
  return values;
}

/** citty reads the single value, so that its own conventions for values stay ours. */
function readOne(name: string, value: string): unknown {
  return readWords([`--${name}=${value}`], { [name]: { type: "string" } })[name];
}

function positionalsOf(
  table: ReadonlyArray<readonly [string, ArgumentDefinition]>,
  plain: readonly string[],
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const left = [...plain];
  for (const [name, definition] of table) {
    const taken = definition.many === true ? left.splice(0) : left.splice(0, 1);
    // The word that --help shows for it.
    const shown = definition.valueHint ?? name.toUpperCase();
    if (taken.length === 0 && definition.required === true) throw new UsageError(`${shown} is missing.`);
    for (const value of taken) checkChoice(shown, value, definition);
    values[name] = definition.many === true ? taken : taken[0];
  }
  if (left.length > 0) throw new UsageError(`Unexpected word ${visible(left[0]!, 60)}.`);
  return values;
}
