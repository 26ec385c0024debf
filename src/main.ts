// The front door: argv in, one exit number out.
import { writeSync } from "node:fs";

const words = process.argv.slice(2);

async function main(): Promise<number> {
  return await (await import("./commands/front-door.ts")).frontDoor(words);
}

try {
  process.exitCode = await main();
} catch {
  // Not a Failure any door knew: nobody may read its text, so the code alone is told.
  writeSync(2, "proctor: something went wrong inside Proctor. [internal]\n");
  process.exitCode = 1;
}
