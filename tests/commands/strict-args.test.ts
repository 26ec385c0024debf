import { expect, test } from "bun:test";
import { readArguments, UsageError } from "../../src/commands/strict-args.ts";
import { defineStrictCommand } from "../../src/commands/strict-command.ts";

const command = defineStrictCommand({
  meta: { name: "try", description: "A command for tests", examples: ["proctor try"] },
  args: {
    name: { type: "string", description: "one" },
    tag: { type: "string", description: "many", repeatable: true },
    kind: { type: "string", description: "chosen", choices: ["a", "b"] },
    json: { type: "boolean", description: "flag" },
    file: { type: "positional", description: "where", required: true },
  },
});
const withRest = defineStrictCommand({
  meta: { name: "run", description: "Runs", examples: ["proctor run"] },
  args: { audit: { type: "string", description: "file", required: true } },
  rest: "required",
});
const positionalRest = defineStrictCommand({
  meta: { name: "relay", description: "Relays", examples: ["proctor relay"] },
  args: { audit: { type: "positional", description: "file", required: true } },
  rest: "required",
});

test("readArguments() gives typed values for every form of a flag", () => {
  const { args } = readArguments(command, ["--name=x", "--tag", "1", "--tag", "2", "--json", "f"]);

  expect(args).toEqual({ name: "x", tag: ["1", "2"], json: true, file: "f" });
});

test("readArguments() takes a value that begins with a single dash or holds an equals sign", () => {
  expect(readArguments(command, ["--name", "-", "f"]).args.name).toBe("-");
  expect(readArguments(command, ["--name=a=b", "f"]).args.name).toBe("a=b");
});

const refused: Array<readonly [string, string[]]> = [
  ["Unknown flag --unknown.", ["--unknown", "1", "f"]],
  ["Unknown flag -n.", ["-n", "f"]],
  ["--name may be given once only.", ["--name", "1", "--name", "2", "f"]],
  ["--json may be given once only.", ["--json", "--json", "f"]],
  ["--name needs a value.", ["f", "--name"]],
  ["--name needs a value.", ["--name", "--json", "f"]],
  ["--name needs a value.", ["--name=", "f"]],
  ["--json takes no value.", ["--json=1", "f"]],
  ["--kind takes a, b.", ["--kind", "c", "f"]],
  ["FILE is missing.", []],
  ["Unexpected word g.", ["f", "g"]],
  ["No words may follow `--` here.", ["f", "--", "x"]],
];
for (const [sentence, words] of refused) {
  test(`readArguments() refuses ${words.join(" ") || "nothing"}: ${sentence}`, () => {
    expect(() => readArguments(command, words)).toThrow(new UsageError(sentence));
  });
}

test("readArguments() hands the words after -- on untouched, dashes included", () => {
  expect(readArguments(withRest, ["--audit", "f", "--", "cmd", "--audit", "--", "x"]).rest).toEqual([
    "cmd",
    "--audit",
    "--",
    "x",
  ]);
});

test("readArguments() refuses a missing program after --", () => {
  expect(() => readArguments(withRest, ["--audit", "f"])).toThrow("Give the program to run after `--`.");
});

test("readArguments() takes the positional form of a command that runs a program", () => {
  const { args, rest } = readArguments(positionalRest, ["f", "cmd", "arg"]);

  expect(args.audit).toBe("f");
  expect(rest).toEqual(["cmd", "arg"]);
});

test("readArguments() calls a missing word what --help calls it", () => {
  const hinted = defineStrictCommand({
    meta: { name: "look", description: "Looks.", examples: ["proctor look"] },
    args: { path: { type: "positional", description: "where", valueHint: "DIR", required: true } },
  });

  expect(() => readArguments(hinted, [])).toThrow("DIR is missing.");
  expect(() => readArguments(command, [])).toThrow("FILE is missing.");
});
