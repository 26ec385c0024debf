// The front door. Hooks go straight to their chunk, before the command line's own machinery is loaded.
import { writeSync } from "node:fs";

const words = process.argv.slice(2);

async function main(): Promise<number> {
  if (words[0] === "hook" && (words[1] === "observe" || words[1] === "recover")) {
    // Ends here and now: a host that keeps the payload open would hold the process by its unread input.
    process.exit(await (await import("./hooks/entry.ts")).hookEntry(words.slice(1)));
  }
  return await (await import("./commands/front-door.ts")).frontDoor(words);
}

try {
  process.exitCode = await main();
} catch {
  // Not a Failure any door knew: nobody may read its text, so the code alone is told.
  writeSync(2, "proctor: something went wrong inside Proctor. [internal]\n");
  process.exitCode = 1;
}
