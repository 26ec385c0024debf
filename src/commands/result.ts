// Where results and sentences leave the program: stdout carries the one result, stderr is for people.
// Rooms never print; commands call these. Nothing here can lose output into a slow pipe.
import { fstatSync } from "node:fs";
import { Failure } from "../base/failure.ts";
import { writeWhole } from "../base/output.ts";
import { visible } from "../base/visible.ts";
import type { commandCodes } from "./codes.ts";

/** True when stdout is a terminal a person looks at. */
export function stdoutIsTerminal(): boolean {
  // The runtime's stream is worth a quarter of a short command's time, so it is only made where it may be a terminal.
  return mayBeTerminal(1) && process.stdout.isTTY === true;
}

function mayBeTerminal(fd: number): boolean {
  try {
    const found = fstatSync(fd);
    // On Linux the devices of major number 1 are memory: null, zero, full, random.
    const isMemory = process.platform === "linux" && found.rdev >> 8 === 1;
    return found.isCharacterDevice() && !isMemory;
  } catch {
    // Closed: nobody looks at it.
    return false;
  }
}

/** Columns to write for; a terminal that tells none, or nonsense, gets 80. Lines never pass 100. */
export function terminalWidth(): number {
  return Math.min(Math.max(process.stdout.columns || 80, 40), 100);
}

/** Prints the result: JSON when asked for or when stdout is no terminal, else `text` for people. */
export function printResult(value: unknown, options: { readonly json: boolean; readonly text?: () => string }): void {
  if (options.json || options.text === undefined || !stdoutIsTerminal()) put(`${JSON.stringify(value, null, 2)}\n`);
  else put(`${options.text()}\n`);
}

/** A reader that went away is its own affair; a disk that takes no more is a result that nobody has. */
function put(text: string): void {
  try {
    writeWhole(1, text);
  } catch (error) {
    throw new Failure<keyof typeof commandCodes>("output_unwritable", { cause: error });
  }
}

/** Prints text on stdout as it is (pages, completions, configuration). */
export function printText(text: string): void {
  put(text.endsWith("\n") ? text : `${text}\n`);
}

/** One sentence for people on stderr. */
export function tell(sentence: string): void {
  tellRaw(`${visible(sentence, 2000)}\n`);
}

/** Text on stderr as it is: a living line and its ends. */
export function tellRaw(text: string): void {
  try {
    writeWhole(2, text);
  } catch {
    // Where even stderr takes nothing, the exit number is all that can still be told.
  }
}

/** Several lines for people on stderr; each is cleaned on its own. */
export function tellLines(lines: readonly string[]): void {
  for (const line of lines) tell(line);
}
