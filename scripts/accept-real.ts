// `npm run accept:real`: installs the pinned real consumer and adapter into a cache folder, then runs the same
// `accept` with them on the stand-in model. The normal install stays without them: they are 400 MB.
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";

const root = `${import.meta.dir}/..`;
const fixture = `${root}/fixtures/real-clients`;
const cache = `${root}/.cache/real-clients`;

/** True when the cache was installed from the lockfile of today. */
function installed(): boolean {
  const lock = `${cache}/package-lock.json`;
  if (!existsSync(`${cache}/node_modules/.package-lock.json`) || !existsSync(lock)) return false;
  return readFileSync(lock, "utf8") === readFileSync(`${fixture}/package-lock.json`, "utf8");
}

function install(): void {
  mkdirSync(cache, { recursive: true });
  for (const file of ["package.json", "package-lock.json", ".npmrc"]) cpSync(`${fixture}/${file}`, `${cache}/${file}`);
  process.stderr.write("setting up: npm ci of the real clients\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const run = Bun.spawnSync([npm, "ci", "--no-fund", "--no-audit"], { cwd: cache, stdio: ["ignore", 2, 2] });
  if (run.exitCode !== 0) process.exit(1);
}

if (!installed()) install();
const node = Bun.which("node");
if (node === null) {
  process.stderr.write("accept:real needs node on PATH: the real adapter is a Node program\n");
  process.exit(1);
}
const modules = `${cache}/node_modules`;
const seats = [
  ...["--codex-path", `${modules}/@openai/codex/bin/codex.js`, "--node-path", node],
  ...["--adapter-script", `${modules}/@agentclientprotocol/codex-acp/dist/index.js`, "--model-endpoint", "standin"],
];
const child = Bun.spawn([process.execPath, "run", `${root}/scripts/accept.ts`, ...seats, ...process.argv.slice(2)], {
  stdio: ["inherit", "inherit", "inherit"],
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
process.exitCode = await child.exited;
