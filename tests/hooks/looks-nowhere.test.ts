// Where the hooks and the promotion of lessons do not look: no transcript is opened, nobody but the operator's server
// is called, a hostile checkout changes nothing, and no secret or content of a payload is kept or shown.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Glob } from "bun";
import type { Json } from "../server/served.ts";
import { proctorBinary, projectRoot } from "../support/binary.ts";
import { runBinary } from "../support/run-binary.ts";
import { tracer } from "../support/tracer.ts";
import { acknowledge, desk, recordingServer, writePrivate } from "./desk.ts";
import { type Plane, type PlaneDesk, plane } from "./plane.ts";

let p: Plane;
beforeAll(async () => {
  p = await plane();
}, 120_000);
afterAll(async () => {
  await p[Symbol.asyncDispose]();
}, 60_000);

/** A pipe that nobody writes: whoever opens it for reading waits for ever. */
function makeFifo(path: string): void {
  const made = Bun.spawnSync(["mkfifo", path]);
  if (made.exitCode !== 0) throw new Error("mkfifo");
}

/** A home whose transcripts and model settings would hold, or show, anybody who opened them. */
function trapHome(folder: string): { env: Record<string, string>; transcript: string } {
  const codexHome = `${folder}/codex`;
  mkdirSync(`${codexHome}/sessions`, { recursive: true });
  const transcript = `${codexHome}/sessions/rollout-1.jsonl`;
  for (const path of [transcript, `${codexHome}/history.jsonl`, `${codexHome}/auth.json`]) makeFifo(path);
  const nobody = "http://127.0.0.1:9";
  return {
    transcript,
    env: {
      ...{ HOME: folder, CODEX_HOME: codexHome, OPENAI_BASE_URL: nobody, OPENAI_API_KEY: "sk-none" },
      ...{ HTTP_PROXY: nobody, HTTPS_PROXY: nobody, ALL_PROXY: nobody },
    },
  };
}

/** Every kind of run that meets a conversation, each with the transcript named where a host names it. */
function allRuns(d: PlaneDesk, registry: string, transcript: string): Array<{ words: string[]; input: string }> {
  const meet = { transcript_path: transcript, session_id: d.conversation, cwd: p.root };
  return [
    { words: ["hook", "observe", "--config", d.configPath], input: d.payload("one", { transcript_path: transcript }) },
    { words: ["hook", "observe", "--config", d.configPath, "--flush"], input: "" },
    {
      words: ["hook", "recover", "--registry", registry],
      input: JSON.stringify({ ...meet, hook_event_name: "SessionStart", source: "resume" }),
    },
    { words: ["experience", "propose", "--config", d.configPath, "--origin", "host", "--text", "Lint."], input: "" },
    { words: ["experience", "list", "--config", d.configPath], input: "" },
  ];
}

function registryOf(d: PlaneDesk): string {
  const registry = `${p.folder}/registry-${d.conversation}.json`;
  const auth = d.configPath.replace(/config\.json$/, "auth");
  const value = { version: 1, server_url: p.url, authorization_file: auth, state_dir: d.state, bindings: [] };
  writePrivate(registry, JSON.stringify(value));
  return registry;
}

async function promoted(d: PlaneDesk, run: (words: readonly string[]) => Promise<{ stdout: string }>): Promise<Json> {
  const list = JSON.parse((await run(["experience", "list", "--config", d.configPath])).stdout) as Json;
  const { proposal, version } = list["proposals"][0];
  const where = ["--destination", `memory:${d.conversation}`, "--expected", "absent"];
  const choice = ["--config", d.configPath, "--proposal", proposal, "--version", version, ...where];
  await run(["experience", "approve", ...choice]);
  return JSON.parse((await run(["experience", "promote", ...choice])).stdout) as Json;
}

test("transcripts that would hold any reader are named to every run, and every run ends (O184)", async () => {
  const d = p.desk(await p.session(), "local-fifo");
  const folder = `${p.folder}/trap`;
  mkdirSync(folder);
  const { env, transcript } = trapHome(folder);

  for (const { words, input } of allRuns(d, registryOf(d), transcript)) {
    const run = await runBinary(words, { env, cwd: p.root, stdin: Buffer.from(input) });
    expect([words.slice(0, 2), run.code]).toEqual([words.slice(0, 2), 0]);
  }
  expect((await promoted(d, (words) => runBinary(words, { env, cwd: p.root })))["status"]).toBe("applied");
}, 120_000);

test.skipIf(tracer === null)(
  "the kernel saw no transcript opened and no call to anybody but the server (O184, O185)",
  async () => {
    const d = p.desk(await p.session(), "local-traced");
    const folder = `${p.folder}/traced`;
    mkdirSync(folder);
    const { env, transcript } = trapHome(folder);
    const trace = `${folder}/trace`;
    const run = async (words: readonly string[], input = "") => {
      const watch = [
        tracer!,
        "-f",
        "-qq",
        "-A",
        "-o",
        trace,
        "-e",
        "trace=openat,open,connect,sendto",
        "--",
        proctorBinary,
      ];
      const child = Bun.spawn([...watch, ...words], {
        ...{
          cwd: p.root,
          env: { PATH: "/usr/bin:/bin", ...env },
          stdin: Buffer.from(input),
          stdout: "pipe",
          stderr: "ignore",
        },
      });
      return { stdout: await new Response(child.stdout).text() };
    };

    for (const { words, input } of allRuns(d, registryOf(d), transcript)) await run(words, input);
    const last = await promoted(d, run);

    const seen = readFileSync(trace, "utf8").split("\n");
    const inet = seen.filter((line) => /connect\(|sendto\(/.test(line) && /sin6?_port/.test(line));
    const port = new URL(p.url).port;
    expect(last["status"]).toBe("applied");
    expect(seen.some((line) => line.includes(d.configPath))).toBe(true);
    expect(seen.filter((line) => /rollout|history\.jsonl|auth\.json|\/codex\//.test(line))).toEqual([]);
    expect(inet.length).toBeGreaterThan(0);
    expect(inet.filter((line) => !line.includes(`sin_port=htons(${port})`))).toEqual([]);
    expect(inet.filter((line) => !line.includes('"127.0.0.1"'))).toEqual([]);
  },
  180_000,
);

test("the hooks' sources name the operator's routes and tools alone, and no model's (O185)", async () => {
  const files = Array.from(new Glob("**/*.ts").scanSync(`${projectRoot}src/hooks`)).sort();
  const texts = await Promise.all(files.map((file) => Bun.file(`${projectRoot}src/hooks/${file}`).text()));
  const all = texts.join("\n");

  const routes = new Set([...all.matchAll(/["`](\/api\/[^"`$]*)/g)].map((found) => found[1]!));
  const askers = files.filter((_, at) =>
    /base\/bounded-http|\bfetch\(|Bun\.connect|node:(?:net|http)/.test(texts[at]!),
  );
  expect([...routes].sort()).toEqual(["/api/runtime-console/", "/api/tools/call"]);
  expect(askers).toEqual(["operator-client.ts"]);
});

test("a hostile checkout with files of the same names changes neither target nor credential (O093)", async () => {
  await using d = await desk();
  await using theirs = recordingServer(acknowledge);
  await using ours = recordingServer(acknowledge);
  d.configure({ server_url: ours.url });
  const hostile = { ...d.config, server_url: theirs.url, authorization_file: `${d.project}/auth` };
  writePrivate(`${d.project}/config.json`, JSON.stringify(hostile));
  writePrivate(`${d.project}/auth`, "Bearer stolen\n");
  mkdirSync(`${d.project}/state`, { mode: 0o700 });
  mkdirSync(`${d.project}/.codex`);
  writeFileSync(`${d.project}/.codex/config.toml`, `server_url = "${theirs.url}"\n`);
  writeFileSync(
    `${d.project}/.env`,
    `WEBCODEX_URL=${theirs.url}\nHTTP_PROXY=${theirs.url}\nBUN_CONFIG_PRELOAD=./x.ts\n`,
  );
  writeFileSync(`${d.project}/bunfig.toml`, 'preload = ["./x.ts"]\n');
  writeFileSync(`${d.project}/x.ts`, `await fetch("${theirs.url}/preload");\n`);
  writeFileSync(`${d.project}/package.json`, '{"name":"proctor","type":"module","imports":{"#a":"./x.ts"}}\n');

  const run = await runBinary(["hook", "observe", "--config", d.configPath], {
    ...{ cwd: d.project, stdin: Buffer.from(d.payload()) },
  });
  const relative = await runBinary(["hook", "observe", "--config", "config.json"], {
    ...{ cwd: d.project, stdin: Buffer.from(d.payload({ tool_use_id: "two" })) },
  });

  expect([run.code, relative.code]).toEqual([0, 1]);
  expect(theirs.asked).toEqual([]);
  expect(ours.asked.map((one) => one.authorization)).toEqual(["Bearer fixture"]);
  expect(readdirSync(`${d.project}/state`)).toEqual([]);
}, 60_000);

test("no secret, content or path of a payload is kept, sent or shown, whatever goes wrong (O169)", async () => {
  await using d = await desk();
  const canary = `canary-${crypto.randomUUID()}`;
  await using server = recordingServer(
    () => new Response(JSON.stringify({ error: canary, output: { error_kind: `${canary}!` } }), { status: 400 }),
  );
  d.configure({ server_url: server.url });
  writePrivate(`${d.path}/auth`, `Bearer ${canary}\n`);
  const filled = {
    ...{ tool_input: { command: canary }, tool_response: canary, transcript_path: `/x/${canary}`, prompt: canary },
    ...{ model: canary, permission_mode: canary },
  };
  const observe = (input: string) =>
    runBinary(["hook", "observe", "--config", d.configPath], { stdin: Buffer.from(input) });

  const runs = [
    await observe(d.payload(filled)),
    await observe(d.payload({ ...filled, cwd: `/x/${canary}` })),
    await observe(d.payload({ ...filled, session_id: canary })),
    await observe(`${d.payload(filled)}${canary}`),
    await runBinary(["hook", "observe", "--config", d.configPath, "--flush"]),
    await runBinary(["hook", "observe", "--config", `${d.path}/${canary}`], { stdin: Buffer.from(d.payload(filled)) }),
    await runBinary(["handoff", "read", "--config", d.configPath], { cwd: d.project }),
    await runBinary(["hook", "doctor", "--config", d.configPath, "--codex-home", d.path]),
    await runBinary(["experience", "list", "--config", d.configPath]),
  ];
  const kept = readdirSync(d.state).map((name) => `${name} ${readFileSync(`${d.state}/${name}`, "utf8")}`);

  expect(kept.length).toBeGreaterThan(1);
  expect(kept.join("\n")).not.toContain(canary);
  expect(runs.map((run) => `${run.stdout}${run.stderr}`).join("\n")).not.toContain(canary);
  expect(server.asked.length).toBeGreaterThan(0);
  // The server gets the credential in its header and nothing of the payload in the body.
  expect(JSON.stringify(server.asked.map((one) => one.body))).not.toContain(canary);
}, 60_000);
