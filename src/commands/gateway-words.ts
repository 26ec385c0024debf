// What the gateway's words share: their common arguments, and those that are one question to the running gateway.
import { lstatSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Failure } from "../base/failure.ts";
import { createPrivateFile } from "../base/private-files.ts";
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

/** Looked at before a credential is changed: a file that could not be written would cost a client its old one. */
export function requireNewFile(path: string): void {
  const whole = resolve(path);
  if (found(() => lstatSync(whole)) !== null) throw new Failure("private_file_exists");
  if (found(() => statSync(dirname(whole)))?.isDirectory() !== true) throw new Failure("private_file_unwritable");
}

/** Null for whatever cannot be looked at: writing there would fail with its own reason. */
function found(look: () => Stats): Stats | null {
  try {
    return look();
  } catch {
    return null;
  }
}

/** Writes a fresh bearer into a new private file; a credential that could not be handed over is revoked. */
export async function handOver(
  folder: string,
  issued: { readonly bearer: unknown; readonly credential: unknown; readonly output: string },
): Promise<void> {
  try {
    createPrivateFile(resolve(issued.output), String(issued.bearer));
  } catch (error) {
    const { askGateway } = await import("../gateway/control.ts");
    await askGateway(folder, { op: "revoke", credential: issued.credential });
    throw error;
  }
}
