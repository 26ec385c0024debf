// Programs that only some checks need are pinned below `fixtures/` and installed into `.cache/` when first asked for.
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";

const root = `${import.meta.dir}/..`;

/** The module folder of `fixtures/NAME`, installed from its lockfile unless that was done already; ends the process when it cannot be. */
export function pinnedModules(name: string): string {
  const fixture = `${root}/fixtures/${name}`;
  const cache = `${root}/.cache/${name}`;
  const lock = readFileSync(`${fixture}/package-lock.json`, "utf8");
  const marker = `${cache}/installed-lock.json`;
  if (existsSync(marker) && readFileSync(marker, "utf8") === lock) return `${cache}/node_modules`;
  mkdirSync(cache, { recursive: true });
  for (const file of ["package.json", "package-lock.json", ".npmrc"]) cpSync(`${fixture}/${file}`, `${cache}/${file}`);
  process.stderr.write(`setting up: the pinned programs of fixtures/${name}\n`);
  // Not `npm ci`: some list packages for other platforms that are not published everywhere, and `ci` insists on all.
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const run = Bun.spawnSync([npm, "install", "--no-fund", "--no-audit", "--ignore-scripts"], {
    cwd: cache,
    stdio: ["ignore", 2, 2],
  });
  if (run.exitCode !== 0) process.exit(1);
  cpSync(`${fixture}/package-lock.json`, marker);
  return `${cache}/node_modules`;
}
