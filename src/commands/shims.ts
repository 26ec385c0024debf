// `proctor shims DIR`: launchers named as a harness with a `--bin-dir` expects them, into a private folder.
// Replaces nothing: an existing launcher, a link or a folder open to others is refused.
import { chmodSync, lstatSync } from "node:fs";
import { resolve } from "node:path";
import { Failure } from "../base/failure.ts";
import { createPrivateFile, ensurePrivateFolder, removeIfPresent } from "../base/private-files.ts";
import { currentFolder, selfCommand } from "../base/self.ts";
import type { ServerCode } from "../server/codes.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

const launchers = { "webcodex-server": "server", "webcodex-runner": "runner" } as const;

export default defineStrictCommand({
  meta: {
    name: "shims",
    description: "Write launchers webcodex-server and webcodex-runner of this executable into a private folder.",
    examples: ["proctor shims ./bin"],
    notes: ["The folder is made when it is missing (0700). An existing launcher is never replaced."],
  },
  args: {
    dir: { type: "positional", required: true, description: "The folder of the launchers." },
    json: { type: "boolean", description: "Print the result as JSON." },
  },
  run({ args }) {
    const written = writeLaunchers(resolve(currentFolder(), args.dir));
    printResult({ shims: "written", files: written }, { json: args.json, text: () => written.join("\n") });
    return exitNumbers.done;
  },
});

/** Writes both launchers or none; gives their paths. */
export function writeLaunchers(folder: string): string[] {
  const wanted = Object.entries(launchers).map(([name, word]) => ({ path: `${folder}/${name}`, word }));
  const written: string[] = [];
  try {
    ensurePrivateFolder(folder);
    for (const { path } of wanted) if (isThere(path)) throw new Failure<ServerCode>("shims_exist");
    for (const { path, word } of wanted) {
      createPrivateFile(path, launcherText(word));
      written.push(path);
      chmodSync(path, 0o700);
    }
  } catch (error) {
    for (const path of written) removeIfPresent(path);
    if (error instanceof Failure && error.code === "shims_exist") throw error;
    const raced = error instanceof Failure && error.code === "private_file_exists";
    throw new Failure<ServerCode>(raced ? "shims_exist" : "shims_unwritable", { cause: error });
  }
  return written;
}

/** The whole launcher: it replaces itself by this executable, so signals and the process id stay the caller's. */
function launcherText(word: string): string {
  const { command, args } = selfCommand([word]);
  return `#!/bin/sh\nexec ${[command, ...args].map(quoted).join(" ")} "$@"\n`;
}

/** One word for the shell: nothing between single quotes is special, and a single quote is spelled outside them. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
