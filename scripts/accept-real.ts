// `npm run accept:real`: installs the pinned real consumer and adapter into a cache folder, then runs the same
// `accept` with them on the stand-in model. The normal install stays without them: they are 400 MB.
// With `--older-codex` the Codex of `fixtures/codex-0.144` takes the consumer's seat and drives the adapter.
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";

const root = `${import.meta.dir}/..`;

/** The module folder of a fixture, installed from its lockfile unless that was done already. */
function modulesOf(name: string): string {
  const fixture = `${root}/fixtures/${name}`;
  const cache = `${root}/.cache/${name}`;
  const lock = readFileSync(`${fixture}/package-lock.json`, "utf8");
  const marker = `${cache}/installed-lock.json`;
  if (!existsSync(marker) || readFileSync(marker, "utf8") !== lock) {
    mkdirSync(cache, { recursive: true });
    for (const file of ["package.json", "package-lock.json", ".npmrc"])
      cpSync(`${fixture}/${file}`, `${cache}/${file}`);
    process.stderr.write(`setting up: the pinned programs of fixtures/${name}\n`);
    // Not `npm ci`: the older Codex is not published for every platform its package lists, and `ci` insists on all.
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const run = Bun.spawnSync([npm, "install", "--no-fund", "--no-audit"], { cwd: cache, stdio: ["ignore", 2, 2] });
    if (run.exitCode !== 0) process.exit(1);
    cpSync(`${fixture}/package-lock.json`, marker);
  }
  return `${cache}/node_modules`;
}

const node = Bun.which("node");
if (node === null) {
  process.stderr.write("accept:real needs node on PATH: the real adapter is a Node program\n");
  process.exit(1);
}
const words = process.argv.slice(2).filter((word) => word !== "--older-codex");
const modules = modulesOf("real-clients");
const codex = `${words.length < process.argv.length - 2 ? modulesOf("codex-0.144") : modules}/@openai/codex/bin/codex.js`;
const seats = [
  ...["--codex-path", codex, "--node-path", node, "--model-endpoint", "standin"],
  ...["--adapter-script", `${modules}/@agentclientprotocol/codex-acp/dist/index.js`],
];
const child = Bun.spawn([process.execPath, "run", `${root}/scripts/accept.ts`, ...seats, ...words], {
  stdio: ["inherit", "inherit", "inherit"],
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
process.exitCode = await child.exited;
