// `npm run accept:real`: installs the pinned real consumer and adapter into a cache folder, then runs the same
// `accept` with them on the stand-in model. The normal install stays without them: they are 400 MB.
// With `--older-codex` the Codex of `fixtures/codex-0.144` takes the consumer's seat and drives the adapter.
import { pinnedModules } from "./pinned.ts";

const root = `${import.meta.dir}/..`;

const node = Bun.which("node");
if (node === null) {
  process.stderr.write("accept:real needs node on PATH: the real adapter is a Node program\n");
  process.exit(1);
}
const words = process.argv.slice(2).filter((word) => word !== "--older-codex");
const modules = pinnedModules("real-clients");
const codex = `${words.length < process.argv.length - 2 ? pinnedModules("codex-0.144") : modules}/@openai/codex/bin/codex.js`;
const seats = [
  ...["--codex-path", codex, "--node-path", node, "--model-endpoint", "standin"],
  ...["--adapter-script", `${modules}/@agentclientprotocol/codex-acp/dist/index.js`],
];
const child = Bun.spawn([process.execPath, "run", `${root}/scripts/accept.ts`, ...seats, ...words], {
  stdio: ["inherit", "inherit", "inherit"],
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
process.exitCode = await child.exited;
