// Failures that hooks in the field really had, each as the trigger that brought it out.
import { afterEach, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { tryLock } from "../../src/base/file-lock.ts";
import { loadConfig } from "../../src/hooks/config-file.ts";
import { associate } from "../../src/hooks/recovery.ts";
import { proctorBinary } from "../support/binary.ts";
import { type Ran, runBinary } from "../support/run-binary.ts";
import { acknowledge, type Desk, desk, recordingServer, writePrivate } from "./desk.ts";
import { observed } from "./observed.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});
function kept<T extends AsyncDisposable>(one: T): T {
  open.push(one);
  return one;
}

const pending = (d: Desk) => readdirSync(d.state).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));
const observe = (d: Desk, input: string, words: readonly string[] = []) =>
  runBinary(["hook", "observe", "--config", d.configPath, ...words], { stdin: Buffer.from(input) });

test("a host that writes 2 MiB never meets a closed pipe, whichever way the hook leaves early (B28)", async () => {
  const d = kept(await desk());
  const pad = `,"tool_response":"${"x".repeat(2 * 1024 * 1024)}"}`;
  const big = (changes: object) => d.payload(changes as Record<string, unknown>).replace(/\}$/, pad);
  writeFileSync(`${d.path}/big.json`, big({}));
  writeFileSync(`${d.path}/stop.json`, big({ hook_event_name: "Stop" }));
  writeFileSync(`${d.path}/other.json`, big({ session_id: "other" }));
  writePrivate(`${d.path}/open.json`, JSON.stringify(d.config));
  chmodSync(`${d.path}/open.json`, 0o644);
  const lock = tryLock(`${d.state}/.lock`);
  const ways: Array<readonly [string, string]> = [
    ["big", `hook observe --config ${d.path}/missing.json`],
    ["big", `hook observe --config ${d.path}/open.json`],
    ["big", `hook observe --config ${d.configPath}`],
    ["other", `hook observe --config ${d.configPath}`],
    ["stop", `hook observe --config ${d.configPath}`],
    ["big", "hook observe --config"],
    ["big", `hook observe --config ${d.configPath} --bogus`],
    ["big", `hook recover --registry ${d.path}/missing.json`],
    ["stop", `hook recover --registry ${d.path}/missing.json --bogus`],
  ];

  const said: string[] = [];
  for (const [file, words] of ways) {
    // The writer is cat: its own status is 141 when the pipe was closed on it.
    const script = `cat ${d.path}/${file}.json | ${proctorBinary} ${words} 2>/dev/null >/dev/null; echo "\${PIPESTATUS[*]}"`;
    const run = Bun.spawn(["/bin/bash", "-c", script], {
      env: { PATH: "/usr/bin:/bin" },
      stdout: "pipe",
      stdin: "ignore",
    });
    said.push((await new Response(run.stdout).text()).trim());
  }
  lock?.release();

  expect(said).toEqual(["0 1", "0 1", "0 1", "0 1", "0 1", "0 64", "0 64", "0 1", "0 64"]);
  expect(pending(d)).toEqual([]);
}, 120_000);

test("a payload is read whole however it arrives: at once, in pieces, late, from a file, or not at all", async () => {
  const d = kept(await desk());
  // Nearly the limit: more than one pipe buffer, in a call of its own each time.
  const large = (call: string) => d.payload({ tool_use_id: call, tool_response: "x".repeat(120_000) });
  for (const call of ["pipe", "pieces", "late", "file"]) writeFileSync(`${d.path}/${call}.in`, large(call));
  const hook = `${proctorBinary} hook observe --config ${d.configPath} --deliver background`;
  const halves = (call: string) => `head -c 60000 ${d.path}/${call}.in; sleep 0.4; tail -c +60001 ${d.path}/${call}.in`;
  const ways = [
    `cat ${d.path}/pipe.in | ${hook}`,
    `{ ${halves("pieces")}; } | ${hook}`,
    `{ sleep 0.6; cat ${d.path}/late.in; } | ${hook}`,
    `${hook} < ${d.path}/file.in`,
    `${hook} < /dev/null`,
    `${hook} <&-`,
  ];

  const codes: number[] = [];
  for (const script of ways) {
    const run = Bun.spawn(["/bin/bash", "-c", `${script} 2>/dev/null`], {
      env: { PATH: "/usr/bin:/bin" },
      stdin: "ignore",
    });
    codes.push(await run.exited);
  }

  expect(codes).toEqual([0, 0, 0, 0, 1, 1]);
  expect(pending(d)).toHaveLength(4);
}, 60_000);

test("a host that never closes the payload is not waited for without end, and nothing is claimed", async () => {
  const d = kept(await desk());
  const child = Bun.spawn([proctorBinary, "hook", "observe", "--config", d.configPath], {
    ...{ cwd: "/", env: {}, stdin: "pipe", stdout: "ignore", stderr: "pipe" },
  });
  child.stdin.write(d.payload());
  await child.stdin.flush();

  const said = await new Response(child.stderr).text();

  expect([await child.exited, JSON.parse(said).reason]).toEqual([1, "hook_input_deadline"]);
  expect(pending(d)).toEqual([]);
}, 60_000);

test("a call without an id is visibly not captured, a helper's start is no start of ours (B31)", async () => {
  const d = kept(await desk());

  const noId = await observe(d, d.payload({ tool_use_id: undefined, agent_id: "helper" }));
  const start = await observe(d, d.payload({ hook_event_name: "SubagentStart", agent_id: "helper" }));
  writePrivate(`${d.path}/registry.json`, registryText(d, "http://127.0.0.1:1"));
  const words = ["hook", "recover", "--registry", `${d.path}/registry.json`];
  const recovered = await runBinary(words, { stdin: Buffer.from(d.payload({ hook_event_name: "SubagentStart" })) });

  expect([noId.code, JSON.parse(noId.stderr).reason]).toEqual([1, "missing_tool_identity"]);
  expect([start.code, JSON.parse(start.stderr).status]).toEqual([0, "ignored"]);
  expect([recovered.code, recovered.stdout]).toEqual([0, "{}\n"]);
  expect(pending(d)).toEqual([]);
}, 60_000);

const registryText = (d: Desk, url: string) =>
  JSON.stringify({
    ...{ version: 1, server_url: url, authorization_file: `${d.path}/auth`, state_dir: d.state, bindings: [] },
  });

/** Listens and answers as told, byte by byte if need be. */
function rawServer(answer: (write: (text: string) => void, end: () => void) => void) {
  const timers = new Set<ReturnType<typeof setInterval>>();
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        answer(
          (text) => {
            socket.write(text);
            socket.flush();
          },
          () => socket.terminate(),
        );
      },
      error() {},
    },
  });
  const every = (ms: number, work: () => void) => timers.add(setInterval(work, ms));
  return {
    url: `http://127.0.0.1:${server.port}`,
    every,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearInterval(timer);
      server.stop(true);
    },
  };
}

test("a server that is silent, drips, breaks off or is gone costs one deadline and no report (B37)", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const drip = rawServer((write) => {
    write(head);
    drip.every(300, () => write("1\r\n{\r\n"));
  });
  const servers = [
    rawServer(() => undefined),
    drip,
    rawServer((write, end) => {
      write(`${head}10\r\n{"success": tr`);
      end();
    }),
    { url: "http://127.0.0.1:1", [Symbol.asyncDispose]: async () => undefined },
  ].map(kept);
  const desks = await Promise.all(servers.map(async ({ url }) => kept(await desk(url))));

  const runs = await Promise.all(desks.map((d) => observe(d, d.payload())));

  expect(runs.map((run) => [run.code, run.stdout, JSON.parse(run.stderr).saved])).toEqual(Array(4).fill([1, "", true]));
  expect(desks.map((d) => pending(d).length)).toEqual([1, 1, 1, 1]);
}, 120_000);

test("names of tools as hosts really build them stay apart and stay names (B38)", async () => {
  const d = kept(await desk());
  const long = `mcp__${"server_".repeat(9)}`;
  const names = [
    ...["Bash", "functions.apply_patch", "apply_patch", "mcp__npm:@scope/server.x__read/file", "a b", "工具", ""],
    ...[`${long}__a`, `${long}__b`, "x".repeat(147), `${"x".repeat(146)}y`, "/home/me/secret.txt"],
  ];

  const labels: unknown[] = [];
  for (const [at, tool_name] of names.entries())
    labels.push((await observed(d, { tool_name, tool_use_id: `call-${at}` }))["observed_tool"]);

  expect(new Set(labels).size).toBe(names.length);
  for (const label of labels) expect(label).toMatch(/^[A-Za-z0-9_.:-]{1,64}$/);
  expect(labels.slice(0, 3)).toEqual(names.slice(0, 3));
  expect(labels.at(-1)).not.toContain("/");
});

const handoff = {
  project: "agent:fixture:project",
  session_id: "wc_sess_fixture",
  handoff_brief: {
    session: { session_id: "wc_sess_fixture" },
    basis: { complete: false },
    external_observations: {
      ...{ provenance: "external_report", coverage: { complete: false }, unknown_count: 0, observations: [] },
    },
    ...{ deterministic: true, llm_summary: false, note: "count the owls" },
  },
};

/** A desk whose folder may read a Session of a small server. */
async function associated() {
  const d = kept(await desk());
  const server = kept(
    recordingServer(({ path, body }) => {
      if (path.endsWith("/projects")) {
        return Response.json({ projects: [{ id: handoff.project, path: d.project }], total: 1, truncated: false });
      }
      if (path.endsWith("/workflow-sessions")) {
        return Response.json({ sessions: [{ session_id: handoff.session_id }], truncated: false });
      }
      if (body.tool === "record_external_observation")
        return acknowledge({ body } as Parameters<typeof acknowledge>[0]);
      return Response.json({ success: true, output: handoff });
    }),
  );
  d.configure({ server_url: server.url });
  const registryPath = `${d.path}/registry.json`;
  writePrivate(registryPath, registryText(d, server.url));
  const binding = { projectRoot: d.project, session: "wc_sess_fixture", entryRoots: [d.project], localSession: "" };
  await associate(binding, { registryPath });
  const recover = (changes: object, env: Record<string, string> = {}) =>
    runBinary(["hook", "recover", "--registry", registryPath], {
      env,
      stdin: Buffer.from(
        JSON.stringify({ hook_event_name: "SessionStart", session_id: "one", cwd: d.project, ...changes }),
      ),
    });
  return { d, server, registryPath, recover };
}

test("every source of a start reads afresh, a new conversation reads and may not report (B40)", async () => {
  const { d, server, registryPath, recover } = await associated();
  const before = await Bun.file(registryPath).text();
  const sources = ["startup", "resume", "clear", "compact", "something-new", undefined];

  const starts: Ran[] = [];
  for (const source of sources) starts.push(await recover({ source, session_id: crypto.randomUUID() }));
  const asked = server.asked.length;
  const stranger = await observe(d, d.payload({ session_id: crypto.randomUUID() }));
  const own = await observe(d, d.payload());

  for (const run of starts) expect(run.stdout).toContain("count the owls");
  // Each start asked the server itself: project before, state, project after.
  expect(asked).toBe(2 + 3 * sources.length);
  expect([stranger.code, JSON.parse(stranger.stderr).reason]).toEqual([1, "local_session_mismatch"]);
  expect([own.code, JSON.parse(own.stderr).status]).toEqual([0, "recorded"]);
  expect(await Bun.file(registryPath).text()).toBe(before);
}, 120_000);

test("the same folder by another path is the same for reports; work trees, nested and re-made folders are not (B41)", async () => {
  const { d, recover } = await associated();
  symlinkSync(d.project, `${d.path}/link`);
  mkdirSync(`${d.project}/nested/.git`, { recursive: true });
  mkdirSync(`${d.project}/sub`);
  mkdirSync(`${d.path}/worktree`);
  writeFileSync(`${d.path}/worktree/.git`, `gitdir: ${d.project}/.git/worktrees/w\n`);
  const reason = async (cwd: string) => {
    const run = await observe(d, d.payload({ cwd, tool_use_id: cwd }));
    return run.code === 0 ? JSON.parse(run.stderr).status : JSON.parse(run.stderr).reason;
  };
  const read = async (cwd: string) => {
    const run = await recover({ cwd });
    if (run.code !== 0) return JSON.parse(run.stdout).reason;
    return run.stdout.includes("count the owls") ? "read" : "not associated";
  };

  const reports = [
    `${d.path}/link`,
    `${d.project}/sub/..`,
    `${d.project}/sub`,
    `${d.path}/worktree`,
    d.project.toUpperCase(),
  ];
  const reported: string[] = [];
  for (const cwd of reports) reported.push(await reason(cwd));
  const reads: string[] = [];
  for (const cwd of [
    `${d.project}/sub`,
    `${d.project}/nested`,
    `${d.path}/worktree`,
    `${d.path}/link`,
    `${d.project}/sub/..`,
  ])
    reads.push(await read(cwd));
  renameSync(d.project, `${d.path}/old`);
  mkdirSync(d.project);
  const remade = await read(d.project);

  const mismatch = "project_root_mismatch";
  expect(reported).toEqual(["recorded", "recorded", mismatch, mismatch, mismatch]);
  expect(reads).toEqual([
    ...["read", "not associated", "not associated"],
    ...["canonical_directory_required", "canonical_directory_required"],
  ]);
  expect(remade).toBe("entry_root_replaced");
}, 120_000);

test("stdout is nothing or one JSON value with one line feed, whatever happens (B42)", async () => {
  const { d, server, recover } = await associated();
  const noisy = { DEBUG: "*", BUN_DEBUG: "1", NODE_DEBUG: "http", FORCE_COLOR: "1" };

  const fresh = await recover({}, noisy);
  const unchanged = await recover({ hook_event_name: "UserPromptSubmit" }, noisy);
  const nothing = await recover({ hook_event_name: "Stop" }, noisy);
  const malformed = await runBinary(["hook", "recover", "--registry", `${d.path}/registry.json`], {
    ...{ env: noisy, stdin: Buffer.from("{") },
  });
  const observer = await observe(d, d.payload());
  await server[Symbol.asyncDispose]();
  const offline = await recover({}, noisy);
  const observerOffline = await observe(d, d.payload({ tool_use_id: "two" }));

  for (const run of [fresh, unchanged, nothing, malformed, offline]) {
    expect(run.stdout).toMatch(/^\{[^\r\n\ufeff]*\}\n$/);
    expect(run.stderr).toBe("");
  }
  const hook = (run: Ran) => JSON.parse(run.stdout).hookSpecificOutput;
  expect([hook(fresh).hookEventName, hook(unchanged).hookEventName]).toEqual(["SessionStart", "UserPromptSubmit"]);
  expect(Object.keys(JSON.parse(fresh.stdout))).toEqual(["hookSpecificOutput"]);
  expect(nothing.stdout).toBe("{}\n");
  // Kept evidence is never shown as current.
  expect(offline.stdout).not.toContain("owls");
  expect([observer.stdout, observerOffline.stdout]).toEqual(["", ""]);
}, 120_000);

test("the printed commands work as printed: one saves and its flush delivers, the other reads", async () => {
  const { d, server, registryPath } = await associated();
  const printed = await runBinary(["hook", "config", "--config", d.configPath, "--registry", registryPath]);
  const { hooks } = JSON.parse(printed.stdout);
  const asHost = async (event: string, input: string) => {
    const child = Bun.spawn(["/bin/sh", "-c", hooks[event][0].hooks[0].command], {
      ...{
        cwd: d.project,
        env: { PATH: "/usr/bin:/bin" },
        stdin: Buffer.from(input),
        stdout: "pipe",
        stderr: "ignore",
      },
    });
    return { stdout: await new Response(child.stdout).text(), code: await child.exited };
  };
  const start = JSON.stringify({ hook_event_name: "SessionStart", session_id: "one", cwd: d.project });
  const reported = () => server.asked.filter((one) => one.body.tool === "record_external_observation").length;

  const saved = await asHost("PostToolUse", d.payload());
  const delivered = await holdsWithin(() => reported() === 1 && pending(d).length === 0, { withinMs: 30_000 });
  const read = await asHost("SessionStart", start);

  expect(saved).toEqual({ stdout: "", code: 0 });
  expect(delivered).toBe(true);
  expect([read.code, read.stdout.includes("count the owls")]).toEqual([0, true]);
}, 60_000);

test("links above a private file are followed, a link as the file itself is not, and outside means outside (B54)", async () => {
  const d = kept(await desk());
  const real = realpathSync(d.path);
  mkdirSync(`${real}/var/home/u`, { recursive: true });
  symlinkSync(`${real}/var/home`, `${real}/home`);
  const place = `${real}/home/u`;
  writePrivate(`${place}/config.json`, JSON.stringify(d.config));
  symlinkSync(`${place}/config.json`, `${place}/linked.json`);
  const code = (work: () => unknown) => {
    try {
      work();
      return "taken";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  // The project by its own path, the state inside it by the other spelling.
  symlinkSync(d.project, `${real}/other-spelling`);
  const inside = { ...d.config, state_dir: `${real}/other-spelling/state` };
  writePrivate(`${place}/inside.json`, JSON.stringify(inside));

  expect(code(() => loadConfig(`${place}/config.json`))).toBe("taken");
  expect(code(() => loadConfig(`${place}/linked.json`))).toBe("private_regular_file_required");
  expect(code(() => loadConfig(`${place}/inside.json`))).toBe("configuration_and_state_must_be_outside_project");
  rmSync(d.state, { recursive: true });
  const missing = await observe(d, d.payload());
  expect([missing.code, missing.stdout]).toEqual([1, ""]);
  expect(readdirSync(d.path)).not.toContain("state");
}, 60_000);
