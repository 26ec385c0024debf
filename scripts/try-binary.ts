// Tries an executable of another target the way it would be used: version, doctor, relay, hook, server, acceptance.
//   bun scripts/try-binary.ts dist/release/proctor-linux-arm64
// For arm64 on x64: qemu-user from Debian, registered through binfmt, so that the executable can start itself; without
// the registration the words that start no second process are tried through the emulator alone, and the rest is said
// to be untried. Prints one line a step; exit 1 when a step failed.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { elfFacts } from "./elf.ts";

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const binary = resolve(process.argv[2] ?? "");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "proctor-try-")));
const env = { PATH: "/usr/bin:/bin", HOME: `${folder}/home`, TMPDIR: `${folder}/tmp` };
for (const name of ["home", "tmp", "project", "state"]) mkdirSync(`${folder}/${name}`, { mode: 0o700 });

const emulator = "/usr/bin/qemu-aarch64-static";
const startsItself = await start([binary, "version"]).then(
  (ran) => ran.code === 0,
  () => false,
);
const prefix = startsItself ? [] : [emulator];

async function start(command: readonly string[], stdin = ""): Promise<Ran> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env,
    stdin: new TextEncoder().encode(stdin),
    stdout: "pipe",
    stderr: "pipe",
    timeout: 900_000,
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

const run = (words: readonly string[], stdin = "") => start([...prefix, binary, ...words], stdin);

function hookFiles(): { config: string; payload: string } {
  const config = `${folder}/observe.json`;
  const files = {
    [`${folder}/auth`]: "Bearer try\n",
    [config]: JSON.stringify({
      server_url: "http://127.0.0.1:1",
      authorization_file: `${folder}/auth`,
      project: "agent:try:project",
      project_root: `${folder}/project`,
      workflow_session_id: "wc_sess_try",
      local_session_id: "local-try",
      state_dir: `${folder}/state`,
    }),
  };
  for (const [path, text] of Object.entries(files)) {
    writeFileSync(path, text);
    chmodSync(path, 0o600);
  }
  const event = { hook_event_name: "PostToolUse", session_id: "local-try", tool_use_id: "call-1", tool_name: "Bash" };
  return { config, payload: JSON.stringify({ ...event, cwd: `${folder}/project` }) };
}

/** Starts a server on a free port, asks it whether it is healthy, ends it with SIGINT. */
async function serverAnswers(): Promise<boolean> {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  const child = Bun.spawn([...prefix, binary, "server"], {
    cwd: folder,
    env: {
      ...env,
      WEBCODEX_ADDR: `127.0.0.1:${port}`,
      WEBCODEX_DATA: `${folder}/data`,
      WEBCODEX_TOKEN: "t".repeat(40),
    },
    stdio: ["ignore", "ignore", "ignore"],
  });
  let healthy = false;
  for (let waited = 0; !healthy && waited < 60_000 && child.exitCode === null; waited += 100) {
    healthy = await fetch(`http://127.0.0.1:${port}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    );
    await Bun.sleep(100);
  }
  child.kill("SIGINT");
  return healthy && (await child.exited) === 0;
}

const frames = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\nnot json é\n';
const steps: ReadonlyArray<readonly [name: string, alone: boolean, step: () => Promise<boolean>]> = [
  ["version", true, async () => JSON.parse((await run(["version", "--json"])).stdout).bun === Bun.version],
  ["doctor", true, async () => JSON.parse((await run(["doctor", "--json"])).stdout).healthy === true],
  [
    "relay",
    true,
    async () => (await run(["relay", "--audit", `${folder}/audit.jsonl`, "--", "cat"], frames)).stdout === frames,
  ],
  ["audit verify", true, async () => (await run(["audit", "verify", `${folder}/audit.jsonl`])).code === 0],
  ["hook observe", true, hookSaves],
  ["server", true, serverAnswers],
  [
    "accept",
    false,
    async () =>
      JSON.parse((await run(["accept", "--json", "--output-dir", `${folder}/run`])).stdout).state === "passed",
  ],
  ["verify", false, async () => (await run(["verify", `${folder}/run`])).code === 0],
];

async function hookSaves(): Promise<boolean> {
  const { config, payload } = hookFiles();
  await run(["hook", "observe", "--config", config], payload);
  return readdirSync(`${folder}/state`).some((name) => /^[0-9a-f]{64}\./.test(name));
}

const { machine, interpreter } = elfFacts(new Uint8Array(await Bun.file(binary).arrayBuffer()));
console.log(`${machine}, ${interpreter}; ${startsItself ? "starts itself" : "through the emulator only"}`);
let failed = false;
for (const [name, alone, step] of steps) {
  if (!alone && !startsItself) {
    console.log(`untried  ${name}: it starts itself, and this machine does not know its kind of file`);
    continue;
  }
  const started = performance.now();
  const held = await step().catch(() => false);
  if (!held) failed = true;
  console.log(`${held ? "ok     " : "FAILED "}  ${name}, ${((performance.now() - started) / 1_000).toFixed(1)} s`);
}
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;
