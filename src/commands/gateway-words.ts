// What the gateway's words share: their common arguments, and those that are one question to the running gateway.
import { printResult } from "./result.ts";
import { defineStrictCommand, type StrictCommand } from "./strict-command.ts";

export const runtimeDir = {
  type: "string",
  required: true,
  valueHint: "D",
  description: "The gateway's private folder",
} as const;

export const clientId = {
  type: "string",
  required: true,
  valueHint: "X",
  description: "1 to 64 of A-Z a-z 0-9 _ -",
} as const;

export const preset = {
  type: "string",
  choices: ["interactive", "observer"],
  description: "Rights",
  defaultText: "interactive",
} as const;

/** A word that asks the running gateway one thing and prints its answer. */
export function question(op: string, description: string): StrictCommand {
  return defineStrictCommand({
    meta: { name: op, description, examples: [`proctor gateway ${op} --runtime-dir D`] },
    args: { "runtime-dir": runtimeDir },
    async run({ args }) {
      const { askGateway } = await import("../gateway/control.ts");
      printResult(await askGateway(args["runtime-dir"], { op }), { json: true });
      return 0;
    },
  });
}
