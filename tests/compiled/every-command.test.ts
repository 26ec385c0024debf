// Every command and every word below it, on the compiled executable: help with an example, and wrong words are 64 with
// one sentence, nothing on stdout and nothing done.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { readArguments, UsageError } from "../../src/commands/strict-args.ts";
import type { StrictCommand } from "../../src/commands/strict-command.ts";
import { commandTable } from "../../src/commands/table.ts";
import { type Ran, runBinary } from "../support/run-binary.ts";

interface Entry {
  readonly words: readonly string[];
  readonly command: StrictCommand;
}

async function entriesOf(table: NonNullable<StrictCommand["words"]>, before: readonly string[] = []): Promise<Entry[]> {
  const list: Entry[] = [];
  for (const [name, load] of Object.entries(table)) {
    const command = (await load()).default;
    const words = [...before, name];
    if (command.meta.hidden !== true) list.push({ words, command });
    list.push(...(await entriesOf(command.words ?? {}, words)));
  }
  return list;
}

const entries = await entriesOf(commandTable);
const folder = mkdtempSync(`${tmpdir()}/proctor-words-`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const inFolder = (words: readonly string[]): Promise<Ran> =>
  runBinary(words, { cwd: folder, env: { HOME: folder, TMPDIR: folder } });

/** Looks at every entry, a few at a time: one process each, and two cores. */
async function forEach(list: readonly Entry[], look: (entry: Entry) => Promise<void>): Promise<void> {
  for (let at = 0; at < list.length; at += 4) await Promise.all(list.slice(at, at + 4).map(look));
  expect(readdirSync(folder)).toEqual([]);
}

function expectUsage(ran: Ran, entry: Entry): void {
  const path = `proctor ${entry.words.join(" ")}`;
  expect(ran.stderr.trimEnd().split("\n").length, path).toBe(1);
  expect(ran.stderr, path).toContain("--help");
  expect(ran.stdout, path).toBe("");
  expect(ran.code, path).toBe(64);
}

/** The sentence with which the command's words are refused. */
function refusal(entry: Entry, words: readonly string[]): string {
  try {
    readArguments(entry.command, words);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`taken: proctor ${[...entry.words, ...words].join(" ")}`);
}

test("there are all the commands of the product", () => {
  const paths = entries.map((one) => one.words.join(" "));

  for (const path of [
    "accept verify calibrate report merge relay doctor version completions runner shims",
    "audit_verify handoff_read hook_observe hook_recover hook_config hook_doctor self_verify",
    "gateway_serve gateway_issue gateway_list gateway_revoke gateway_rotate gateway_exec gateway_status gateway_terminate gateway_probe",
    "recovery_discover recovery_associate recovery_list recovery_forget",
    "experience_propose experience_list experience_approve experience_promote experience_reconcile",
    "server server_token_create server_token_list server_token_revoke server_check server_backup server_status",
    "standin_model standin_agent standin_exec standin_app-server",
  ]
    .join(" ")
    .split(" "))
    expect(paths).toContain(path.replaceAll("_", " "));
});

test("every --help has an example of the command itself, no colour, and no line that an 80 column terminal breaks", async () => {
  await forEach(entries, async ({ words }) => {
    const path = `proctor ${words.join(" ")}`;
    const { code, stdout, stderr } = await inFolder([...words, "--help"]);
    const [text = "", examples = ""] = stdout.split(/\nExamples?:\s/);
    expect(examples, path).toContain("proctor ");
    expect(examples, path).toContain(words[0]!);
    expect(stdout, path).not.toContain("\u001b");
    for (const line of text.split("\n")) expect(line.length, `${path}: ${line}`).toBeLessThanOrEqual(112);
    expect(stderr, path).toBe("");
    expect(code, path).toBe(0);
  });
});

test("an unknown flag is 64 everywhere", async () => {
  await forEach(entries, async (entry) => expectUsage(await inFolder([...entry.words, "--no-such-flag"]), entry));
});

// How a command's words are read is one function, which the tests above prove to stand before every command; what it
// refuses is asked of that function for all, and of the executable where something else decides.

test("a flag given twice is 64 unless help marks it repeatable", async () => {
  const words = entries.flatMap((entry) => {
    const once = Object.entries(entry.command.args).find(([, one]) => one.type !== "positional" && !one.repeatable);
    if (once === undefined) return [];
    const [name, definition] = once;
    const given = definition.type === "boolean" ? [`--${name}`] : [`--${name}`, definition.choices?.[0] ?? "1"];
    return [{ entry, words: [...given, ...given] }];
  });

  for (const { entry, words: twice } of words) expect(refusal(entry, twice)).toMatch(/once only|twice/);
  const [one] = words;
  expectUsage(await inFolder([...one!.entry.words, ...one!.words]), one!.entry);
});

test("an extra word, a missing word and a group without its word are 64", async () => {
  for (const entry of entries) {
    const { args, rest, run } = entry.command;
    const positionals = Object.values(args).filter((one) => one.type === "positional");
    const open = run === undefined || rest !== "none" || positionals.some((one) => one.many);
    const filled = Object.entries(args).flatMap(([name, one]) => {
      if (one.type === "positional") return [one.choices?.[0] ?? "word"];
      return one.required === true ? [`--${name}`, one.choices?.[0] ?? "1"] : [];
    });
    if (!open) expect(refusal(entry, [...filled, "one-too-many"])).toContain("one-too-many");
    const needs = Object.values(args).some((one) => one.required === true) || rest === "required";
    if (needs) expect(refusal(entry, [])).toMatch(/^Give |missing|required/);
  }
  const groups = entries.filter(({ command }) => command.run === undefined);
  await forEach(groups, async (entry) => {
    expectUsage(await inFolder(entry.words), entry);
    expectUsage(await inFolder([...entry.words, "one-too-many"]), entry);
  });
});
