// Types, lint and format in one command; ends with 1 when one of them complains.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { bunPath, root } from "./bun.mjs";

bunPath();
const tools = [
  ["typescript/bin/tsc", ["--noEmit", "-p", "."]],
  ["@biomejs/biome/bin/biome", ["check", "--error-on-warnings", "--max-diagnostics=40"]],
];
let failed = false;
for (const [tool, args] of tools) {
  const run = spawnSync(process.execPath, [join(root, "node_modules", tool), ...args], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (run.status !== 0) failed = true;
}
process.exitCode = failed ? 1 : 0;
