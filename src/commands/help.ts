// The text of `--help`, from the same table that reads the words; never wider than the terminal allows.
import type { ArgumentDefinition, StrictCommand } from "./strict-command.ts";

/** Help of one command; `path` is how it was called, e.g. "proctor gateway issue". */
export async function helpOf(command: StrictCommand, path: string, width = 80): Promise<string> {
  const lines = [
    ...wrap(command.meta.description.replace(/\.?$/, "."), width),
    "",
    `Usage: ${path} ${usageOf(command)}`.trimEnd(),
  ];
  if (command.words !== undefined) lines.push("", "Commands:", ...(await commandList(command.words, width)));
  const shown = Object.entries(command.args).filter(([, one]) => one.hidden !== true);
  if (shown.length > 0) lines.push("", "Options:");
  for (const [name, definition] of shown) lines.push(...entryOf(name, definition, width));
  for (const note of command.meta.notes ?? []) lines.push("", ...wrap(note, width));
  lines.push("", command.meta.examples.length > 1 ? "Examples:" : "Example:");
  lines.push(...command.meta.examples.map((example) => `  ${example}`));
  return `${lines.join("\n")}\n`;
}

/** Every command that is shown, with its description beside it, or below where the terminal is narrow. */
export async function commandList(words: NonNullable<StrictCommand["words"]>, width: number): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries(words)) {
    const { meta } = (await load()).default;
    if (meta.hidden === true) continue;
    const head = `  ${name.padEnd(12)} `;
    const [first = "", ...more] = wrap(meta.description.replace(/\.$/, ""), width, " ".repeat(head.length));
    lines.push(head + first.trimStart(), ...more);
  }
  return lines;
}

function usageOf(command: StrictCommand): string {
  if (command.words !== undefined) return command.run === undefined ? "COMMAND [OPTIONS]" : "[COMMAND] [OPTIONS]";
  const words: string[] = [];
  const shown = Object.entries(command.args).filter(([, one]) => one.hidden !== true);
  if (shown.some(([, one]) => one.type !== "positional")) words.push("[OPTIONS]");
  for (const [name, one] of shown) {
    if (one.type !== "positional") continue;
    const word = `${one.valueHint ?? name.toUpperCase()}${one.many === true ? "…" : ""}`;
    words.push(one.required === true ? word : `[${word}]`);
  }
  if (command.rest !== "none") words.push(command.rest === "required" ? "-- CMD ARGS…" : "[-- CMD ARGS…]");
  return words.join(" ");
}

function entryOf(name: string, definition: ArgumentDefinition, width: number): string[] {
  const hint = definition.type === "string" ? ` ${definition.valueHint ?? "VALUE"}` : "";
  const head =
    definition.type === "positional" ? `  ${definition.valueHint ?? name.toUpperCase()}` : `  --${name}${hint}`;
  const extras = [
    definition.choices === undefined ? "" : `one of ${definition.choices.join(", ")}`,
    definition.required === true && definition.type === "string" ? "required" : "",
    definition.repeatable === true ? "repeatable" : "",
    definition.defaultText === undefined ? "" : `default ${definition.defaultText}`,
  ].filter((extra) => extra !== "");
  const text = extras.length === 0 ? definition.description : `${definition.description} (${extras.join("; ")})`;
  return [head, ...wrap(text, width, "      ")];
}

/** Breaks `text` at spaces so that no line passes `width`, unless one word alone does. */
export function wrap(text: string, width: number, indent = ""): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length > indent.length && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent;
    }
    line += line.length === indent.length ? word : ` ${word}`;
  }
  return [...lines, line];
}
