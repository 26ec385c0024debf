// One whole run of the executable as a stranger starts it: alone, in a hostile folder, umask 000, on a terminal.
// What that one run left is looked at by many tests.
import { afterAll, expect, test } from "bun:test";
import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256FileHex } from "../../src/base/bytes.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { Report, reportPhases } from "../../src/contract/report.ts";
import { proctorBinary } from "../support/binary.ts";
import { type OpenWatch, watchOpens } from "../support/open-watch.ts";
import { tempFolder } from "../support/temp-folder.ts";

const waitMs = 300_000;

interface Whole {
  readonly folder: string;
  readonly output: string;
  readonly report: Report;
  readonly code: number;
  /** All that the terminal got. */
  readonly shown: string;
  readonly treeBefore: Record<string, string>;
  readonly treeAfter: Record<string, string>;
  readonly loginOpened: string[] | null;
  readonly bystanderLives: boolean;
}

const dir = await tempFolder();
afterAll(() => dir[Symbol.asyncDispose]());

let running: Promise<Whole> | undefined;
/** The one run, started by the first test that asks for it. */
function whole(): Promise<Whole> {
  running ??= acceptInHostileFolder(dir.path);
  return running;
}

async function acceptInHostileFolder(folder: string): Promise<Whole> {
  plantHostileFiles(folder);
  const home = join(folder, "home");
  const bystander = startBystander(folder);
  const treeBefore = treeOf(folder);
  const login = watchOpens(join(home, ".codex"));
  const decoder = new TextDecoder();
  let shown = "";
  const umask = process.umask(0);
  let child: Bun.Subprocess;
  try {
    child = Bun.spawn([proctorBinary, "accept", "--fixture", "typescript"], {
      cwd: folder,
      env: {
        PATH: "/usr/bin:/bin",
        HOME: home,
        CODEX_HOME: join(home, ".codex"),
        TERM: "xterm",
        OPENAI_API_KEY: "sk-canary-4711",
      },
      terminal: {
        cols: 100,
        rows: 40,
        data: (_, data) => {
          shown += decoder.decode(data, { stream: true });
        },
      },
    });
  } finally {
    process.umask(umask);
  }
  const code = await child.exited;
  // The last bytes may still be on their way through the terminal.
  await holdsWithin(() => /\n {8}proctor (verify|report) [^\n]*\n$/.test(shown), { withinMs: 30_000, everyMs: 10 });
  const bystanderLives = bystander.exitCode === null && bystander.signalCode === null;
  bystander.kill("SIGKILL");
  const loginOpened = readLogin(login, home);
  child.terminal?.close();
  const output = join(folder, readdirSync(folder).find((name) => name.startsWith("proctor-")) ?? "nothing-was-made");
  const report = Report.parse(JSON.parse(readFileSync(join(output, "report.json"), "utf8")));
  return { folder, output, report, code, shown, treeBefore, treeAfter: treeOf(folder), loginOpened, bystanderLives };
}

/** Everything a runtime might load from the folder it stands in, each with a mark that loading it leaves. */
function plantHostileFiles(folder: string): void {
  const evil = `require("node:fs").writeFileSync(${JSON.stringify(join(folder, "LOADED"))}, "x");`;
  const put = (name: string, text: string) => {
    const path = join(folder, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
  };
  put("evil.js", evil);
  for (const name of [".env", ".env.local", ".env.production"])
    put(name, "PATH=/planted\nXDG_STATE_HOME=/planted\nTMPDIR=/planted\nNO_COLOR=1\nBUN_OPTIONS=--preload=./evil.js\n");
  put("bunfig.toml", 'preload = ["./evil.js"]\n[test]\npreload = ["./evil.js"]\n[run]\nsilent = true\n');
  const paths = Object.fromEntries(
    ["*", "zod", "citty", "consola", "./clamp.ts", "bun:test"].map((name) => [name, ["./evil.js"]]),
  );
  put("tsconfig.json", JSON.stringify({ compilerOptions: { baseUrl: ".", paths, jsxImportSource: "./evil.js" } }));
  put(
    "package.json",
    JSON.stringify({
      type: "commonjs",
      main: "./evil.js",
      imports: { "#x": "./evil.js" },
      scripts: { test: "exit 1" },
    }),
  );
  for (const name of ["zod", "citty", "consola", "ws", "bun", "@types/bun"]) {
    put(`node_modules/${name}/package.json`, JSON.stringify({ name, version: "0.0.0", main: "index.js" }));
    put(`node_modules/${name}/index.js`, evil);
  }
  put("home/.codex/auth.json", '{"OPENAI_API_KEY":"sk-canary-4711","tokens":{"refresh_token":"rt-canary-4711"}}');
  put("home/.gitconfig", `[core]\nhooksPath = ${folder}/hooks\n[init]\ntemplateDir = ${folder}/hooks\n`);
  put("hooks/pre-commit", `#!/bin/sh\ntouch ${folder}/LOADED\n`);
  Bun.spawnSync(["chmod", "0755", join(folder, "hooks/pre-commit")]);
}

/** A program of somebody else under the name of a service. */
function startBystander(folder: string): Bun.Subprocess {
  const sleep = "/bin/sleep";
  copyFileSync(sleep, join(folder, "webcodex-server"));
  return Bun.spawn([join(folder, "webcodex-server"), "600"], {
    // One program for many names looks at this word, others at nothing.
    argv0: "sleep",
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
}

/** Names opened beside the login file; one opening of our own at the end shows that the watch sees. */
function readLogin(watch: OpenWatch | null, home: string): string[] | null {
  if (watch === null) return null;
  const before = [...watch.opened()];
  readFileSync(join(home, ".codex/auth.json"));
  const works = watch.opened().includes("auth.json");
  watch.close();
  return works ? before : null;
}

/** Every file below with its digest; the run's own folder and state are left out. */
function treeOf(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (relative: string): void => {
    for (const entry of readdirSync(join(folder, relative), { withFileTypes: true })) {
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (/^proctor-/.test(path)) continue;
      if (entry.isDirectory()) {
        found[path] = "folder";
        walk(path);
      } else
        found[path] = entry.isSymbolicLink() ? readlinkSync(join(folder, path)) : sha256FileHex(join(folder, path));
    }
  };
  walk("");
  return found;
}

function entriesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true }) as string[];
}

test(
  "accept passes alone in a hostile folder and loads nothing from it",
  async () => {
    const { folder, report, code } = await whole();

    expect(report.verdict?.rules.filter((rule) => rule.outcome !== "pass")).toEqual([]);
    expect([report.state, report.phase, code]).toEqual(["passed", "closed", 0]);
    expect(await Bun.file(join(folder, "LOADED")).exists()).toBe(false);
    expect(JSON.stringify(report).includes("/planted")).toBe(false);
  },
  waitMs,
);

test(
  "without a folder's name a fresh one is made, private, and its path is the first line (H002)",
  async () => {
    const { folder, output, shown } = await whole();
    const made = readdirSync(folder).filter((name) => name.startsWith("proctor-"));

    expect(made).toEqual([expect.stringMatching(/^proctor-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}$/)]);
    expect(lstatSync(output).mode & 0o777).toBe(0o700);
    expect(shown.split("\r\n")[0]).toBe(`Evidence: ${output}`);
  },
  waitMs,
);

test(
  "under umask 000 nothing of the run can be touched by others, private/ least of all (H004 H044)",
  async () => {
    const { output } = await whole();
    const open = entriesBelow(output).filter((path) => {
      const { mode } = lstatSync(join(output, path));
      return (mode & 0o077) !== 0;
    });

    expect(open).toEqual([]);
    expect(lstatSync(join(output, "private")).mode & 0o777).toBe(0o700);
  },
  waitMs,
);

test(
  "no seat option means every seat is embedded or a stand-in, under its own name (H011)",
  async () => {
    const { report } = await whole();
    const own = { path: proctorBinary, sha256: sha256FileHex(proctorBinary) };

    expect(report.seats).toMatchObject({
      control_plane: { kind: "embedded", name: "proctor-server", ...own },
      consumer: { kind: "standin", name: "proctor-standin-exec", ...own },
      adapter: { kind: "standin", name: "proctor-standin-agent", ...own },
      model: null,
    });
  },
  waitMs,
);

test(
  "host_job_id is null when none was given, model and effort are the constants (H013 H015)",
  async () => {
    const { report } = await whole();

    expect(report.host_job_id).toBeNull();
    expect([report.model, report.effort]).toEqual(["gpt-5.6-luna", "medium"]);
  },
  waitMs,
);

test(
  "binaries, codex and adapter sections say path, version and digest of what sat there (H023 H026 H028)",
  async () => {
    const { report } = await whole();
    const value = report as unknown as Record<string, unknown>;
    const sha256 = sha256FileHex(proctorBinary);
    const version = report.seats?.consumer.version;

    expect(value["binaries"]).toEqual({
      "webcodex-server": { path: proctorBinary, version, sha256 },
      "webcodex-runner": { path: proctorBinary, version, sha256 },
    });
    expect(value["codex"]).toEqual({ path: proctorBinary, version });
    expect(value["adapter"]).toEqual({
      name: "proctor-standin-agent",
      version,
      script: proctorBinary,
      script_sha256: sha256,
    });
  },
  waitMs,
);

test(
  "the timeline knows only the seed's phases, in the order of a run that passes (H040)",
  async () => {
    const { report } = await whole();
    const phases = (report.timeline ?? []).map((entry) => entry.what);

    expect(phases.filter((phase) => !(reportPhases as readonly string[]).includes(phase))).toEqual([]);
    expect(phases).toEqual([
      "preflight",
      "services_ready",
      "consumer_running",
      "consumer_tool_receipt_verified",
      "consumer_accepted",
      "attempt_claimed",
      "coding_run_bound",
      "observing_before_server_restart",
      "before_server_restart",
      "server_recovered_original_run",
      "observing_original_run",
      "managed_and_recovery_accepted",
      "accepted",
      "closed",
    ]);
  },
  waitMs,
);

test(
  "nobody opened the login file, and a program that is not ours lived on (H017)",
  async () => {
    const { loginOpened, bystanderLives, report, output } = await whole();

    expect(loginOpened ?? []).toEqual([]);
    expect(bystanderLives).toBe(true);
    expect(report.census?.started.every((one) => one.pid > 1)).toBe(true);
    const kept = Bun.spawnSync(["grep", "-rl", "canary-4711", output], { env: { PATH: "/usr/bin:/bin" } });
    expect(kept.stdout.toString()).toBe("");
  },
  waitMs,
);

test(
  "nothing outside the output folder was made or changed, but Proctor's own state (H082)",
  async () => {
    const { treeBefore, treeAfter } = await whole();
    const state = ["home/.local", "home/.local/state", "home/.local/state/proctor", "home/.local/state/proctor/live"];

    expect(treeAfter).toEqual({ ...treeBefore, ...Object.fromEntries(state.map((path) => [path, "folder"])) });
  },
  waitMs,
);

test(
  "environment_mappings lists names alone (H094)",
  async () => {
    const { report } = await whole();
    const value = report as unknown as Record<string, unknown>;

    expect(value["environment_mappings"]).toEqual(["HOME", "PATH", "CODEX_HOME", "CODEX_PATH", "USER", "SHELL"]);
  },
  waitMs,
);

test(
  "a quiet run ends with all nine categories at zero (H111)",
  async () => {
    const { report } = await whole();
    const consumer = report.consumer as unknown as {
      diagnostics: { bytes_seen: number; categories: Record<string, number> };
    };

    expect(consumer.diagnostics.bytes_seen).toBe(0);
    expect(Object.values(consumer.diagnostics.categories)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
  },
  waitMs,
);

test(
  "on a terminal each stage has one line that lived, and the last screen says it all",
  async () => {
    const { shown, output, report } = await whole();
    const lines = shown.split("\r\n").map(
      (line) =>
        line
          .split("\r")
          .at(-1)
          ?.replace(/\x1b\[[0-9;]*[mK]/g, "") ?? "",
    );
    const stages = lines.slice(1, 7).map((line) => line.trim().split(/\s+/));

    expect(stages.map(([name]) => name)).toEqual([
      "preflight",
      "fixtures",
      "provision",
      "consumer",
      "managed",
      "closing",
    ]);
    expect(stages.map((words) => words.at(-1))).toEqual(["done", "done", "done", "passed", "passed", "done"]);
    expect(shown.split("\r").length).toBeGreaterThan(20);
    for (const drawn of shown.split(/[\r\n]+/).filter((line) => line.includes("\x1b[K")))
      expect(drawn.replace(/\x1b\[[0-9;]*[mK]/g, "").length).toBeLessThan(100);
    expect(lines[7]).toMatch(/^PASSED in [0-9.]+ s: /);
    expect(shown).toContain(`Digest  ${sha256FileHex(join(output, "report.json"))}`);
    expect(shown).toContain(`proctor verify ${output} --digest `);
    for (const line of report.verdict?.not_proven ?? [])
      expect(shown).toContain(`${line.replace(/^control_plane:/, "control plane:")}\r\n`);
  },
  waitMs,
);
