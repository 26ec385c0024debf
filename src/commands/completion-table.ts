// What may follow each command path, read from the command table, so that no completion script can lag behind it.
import type { ArgumentDefinition, StrictCommand } from "./strict-command.ts";
import { commandTable } from "./table.ts";

export interface FlagCompletion {
  readonly name: string;
  readonly description: string;
  readonly value: "none" | "free" | readonly string[];
}

export interface Completion {
  /** E.g. "proctor gateway issue". */
  readonly path: string;
  readonly description: string;
  /** Commands below, and the choices of a positional. */
  readonly words: readonly string[];
  readonly flags: readonly FlagCompletion[];
  /** A positional without choices, or a program's own words, follow: file names are of use. */
  readonly files: boolean;
}

type Loaders = Readonly<Record<string, () => Promise<{ readonly default: StrictCommand }>>>;

/** Every command path, the outermost first. */
export async function completionTable(): Promise<Completion[]> {
  const root = { path: "proctor", description: "", words: [] as string[], flags: [help], files: false };
  const below = await entriesOf(commandTable, root.path);
  root.words.push(...childrenOf(below, root.path));
  return [root, ...below];
}

const help: FlagCompletion = { name: "--help", description: "Say how it is used", value: "none" };

async function entriesOf(table: Loaders, path: string): Promise<Completion[]> {
  const list: Completion[] = [];
  for (const [name, load] of Object.entries(table)) {
    const command = (await load()).default;
    if (command.meta.hidden === true) continue;
    const own = `${path} ${name}`;
    const below = await entriesOf(command.words ?? {}, own);
    list.push(entryOf(command, own, childrenOf(below, own)), ...below);
  }
  return list;
}

function childrenOf(list: readonly Completion[], path: string): string[] {
  const depth = path.split(" ").length;
  return list.map((one) => one.path.split(" ")).flatMap((parts) => (parts.length === depth + 1 ? [parts[depth]!] : []));
}

function entryOf(command: StrictCommand, path: string, children: readonly string[]): Completion {
  const shown = Object.entries(command.args).filter(([, one]) => one.hidden !== true);
  const positionals = shown.map(([, one]) => one).filter((one) => one.type === "positional");
  return {
    path,
    description: command.meta.description,
    words: [...children, ...positionals.flatMap((one) => one.choices ?? [])],
    flags: [...shown.filter(([, one]) => one.type !== "positional").map(flagOf), help],
    files: command.rest !== "none" || positionals.some((one) => one.choices === undefined),
  };
}

function flagOf([name, one]: readonly [string, ArgumentDefinition]): FlagCompletion {
  const value = one.type === "boolean" ? "none" : (one.choices ?? "free");
  return { name: `--${name}`, description: one.description, value };
}
