// docs/man/proctor.1, written from the command table, so that the page cannot lag behind `--help`.
// No date and no path of this machine: the same source gives the same page.
import type { ArgumentDefinition, StrictCommand } from "../src/commands/strict-command.ts";
import { commandTable } from "../src/commands/table.ts";
import { version } from "../src/version.ts";

type Loaders = Readonly<Record<string, () => Promise<{ readonly default: StrictCommand }>>>;

/** The whole page in man(7). */
export async function manPage(): Promise<string> {
  return [
    `.TH PROCTOR 1 "" "proctor ${version}" "User Commands"`,
    ".SH NAME",
    "proctor \\- prove, audit and guard coding agents on a test host",
    ".SH SYNOPSIS",
    ".B proctor",
    ".I COMMAND",
    ".RI [ OPTIONS ]",
    ".SH DESCRIPTION",
    "One executable that needs no Node.js, no Python packages and no Docker. Without options every part of a run is",
    "embedded or a scripted stand\\-in. The one result goes to standard output, as JSON when that is no terminal or",
    "with",
    ".BR \\-\\-json ;",
    "people read standard error. Every command has",
    ".BR \\-\\-help .",
    ".SH COMMANDS",
    ...(await sections(commandTable, "proctor")),
    ...tail,
    "",
  ].join("\n");
}

const tail = [
  ".SH EXIT STATUS",
  ...paragraph("0", "Done, passed."),
  ...paragraph("1", "Failed, incomplete or refused: one sentence and a fixed code on standard error."),
  ...paragraph("64", "Wrong command line; nothing was changed."),
  ...paragraph("125", "relay and gateway exec: a fault of Proctor; otherwise they pass on the number of the program."),
  ".SH ENVIRONMENT",
  ...paragraph("XDG_STATE_HOME", "Where proctor/live and the hook ledger lie; ~/.local/state when it is not set."),
  ...paragraph(
    "BUN_OPTIONS, BUN_BE_BUN",
    "Change the runtime before Proctor starts. Start it with env -u BUN_OPTIONS -u BUN_BE_BUN where others may set them.",
  ),
  ".SH FILES",
  ...paragraph("proctor-<UTC>-<6 hex>/", "A run, in the current folder unless --output-dir names another; mode 0700."),
  ...paragraph("~/.local/state/proctor/live/", "One file a live run, removed at its end."),
];

async function sections(table: Loaders, path: string): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries(table)) {
    const command = (await load()).default;
    if (command.meta.hidden === true) continue;
    if (command.run !== undefined) lines.push(...section(command, `${path} ${name}`));
    lines.push(...(await sections(command.words ?? {}, `${path} ${name}`)));
  }
  return lines;
}

function section(command: StrictCommand, path: string): string[] {
  const shown = Object.entries(command.args).filter(([, one]) => one.hidden !== true);
  const words = shown.filter(([, one]) => one.type === "positional").map(positionalWord);
  const flags = shown.some(([, one]) => one.type !== "positional") ? ["[OPTIONS]"] : [];
  const rest = { none: [], optional: ["[-- CMD ARGS...]"], required: ["-- CMD ARGS..."] }[command.rest];
  return [
    `.SS "${plain([path, ...flags, ...words, ...rest].join(" "))}"`,
    plain(command.meta.description).replace(/\.?$/, "."),
    ...shown.flatMap(([name, one]) => paragraph(headOf(name, one), textOf(one))),
    ...(command.meta.notes ?? []).flatMap((note) => [".PP", plain(note)]),
    ".PP",
    ".nf",
    ".RS",
    ...command.meta.examples.map((example) => plain(example)),
    ".RE",
    ".fi",
  ];
}

function positionalWord([name, one]: readonly [string, ArgumentDefinition]): string {
  const word = `${one.valueHint ?? name.toUpperCase()}${one.many === true ? "..." : ""}`;
  return one.required === true ? word : `[${word}]`;
}

function headOf(name: string, one: ArgumentDefinition): string {
  if (one.type === "positional") return one.valueHint ?? name.toUpperCase();
  return one.type === "boolean" ? `--${name}` : `--${name} ${one.valueHint ?? "VALUE"}`;
}

function textOf(one: ArgumentDefinition): string {
  const extras = [
    one.choices === undefined ? "" : `One of ${one.choices.join(", ")}.`,
    one.required === true && one.type === "string" ? "Required." : "",
    one.repeatable === true ? "May be repeated." : "",
    one.defaultText === undefined ? "" : `Default: ${one.defaultText}.`,
  ];
  return [one.description, ...extras.filter((extra) => extra !== "")].join(" ");
}

function paragraph(head: string, text: string): string[] {
  return [".TP", `.B ${plain(head)}`, plain(text)];
}

/** Text that troff shows as it stands: its escapes, hyphens and leading dots lose their meaning. */
function plain(text: string): string {
  const safe = text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replaceAll("→", "->")
    .replaceAll('"', "\\(dq");
  return /^[.']/.test(safe) ? `\\&${safe}` : safe;
}
