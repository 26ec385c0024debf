// Starts the pinned Bun with the given words. npm may have blocked bun's own postinstall, in which case
// node_modules/bun holds only a stub and the real program lies in its platform package.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

function candidates() {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const own = join(root, "node_modules/bun/bin/bun.exe");
  const platform = join(root, "node_modules/@oven");
  const packages = existsSync(platform) ? readdirSync(platform).sort() : [];
  return [own, ...packages.map((name) => join(platform, name, "bin", `bun${suffix}`))];
}

function found() {
  // A stub is under 1 KB, the real program about 100 MB; one of another libc does not answer.
  return candidates().find(
    (path) =>
      existsSync(path) &&
      statSync(path).size > 1_000_000 &&
      spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0,
  );
}

/** Path of the pinned Bun, installing the locked packages first when they are missing. */
export function bunPath() {
  const path = found();
  if (path !== undefined) return path;
  process.stderr.write("setting up: npm ci\n");
  const command = process.platform === "win32" ? "npm.cmd" : "npm";
  const installed = spawnSync(command, ["ci", "--no-fund", "--no-audit"], { cwd: root, stdio: ["ignore", 2, 2] });
  const after = installed.status === 0 ? found() : undefined;
  if (after === undefined) throw new Error("Bun could not be set up: run `npm ci` and read what it says.");
  return after;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const child = spawn(bunPath(), process.argv.slice(2), { stdio: "inherit", cwd: root });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 1;
  });
}
