// The operator's files: configuration shape and place, authorization, printed host configuration, doctor.
import { expect, test } from "bun:test";
import { chmodSync, linkSync, mkdirSync, readdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { operatorFileCodes } from "../../src/hooks/codes.ts";
import { loadConfig } from "../../src/hooks/config-file.ts";
import { hookDoctor } from "../../src/hooks/doctor.ts";
import { hostConfig } from "../../src/hooks/host-config.ts";
import { readAuthorization } from "../../src/hooks/operator-files.ts";
import { desk, runProctor, writePrivate } from "./desk.ts";

const reasonOf = (work: () => unknown) => {
  try {
    work();
    return "taken";
  } catch (error) {
    return (error as Error).message;
  }
};

test("the configuration has exactly its seven keys and lies outside the canonical project (O080, O084, O085)", async () => {
  await using d = await desk();
  const reason = (value: unknown) => {
    writePrivate(d.configPath, JSON.stringify(value));
    return reasonOf(() => loadConfig(d.configPath));
  };

  expect(reason(d.config)).toBe("taken");
  for (const key of Object.keys(d.config)) {
    const { [key]: _, ...rest } = d.config;
    expect(reason(rest)).toBe("invalid_config");
    expect(reason({ ...d.config, [key]: "" })).toBe("invalid_config");
    expect(reason({ ...d.config, [key]: 7 })).toBe("invalid_config");
  }
  expect(reason({ ...d.config, more: "x" })).toBe("invalid_config");
  symlinkSync(d.project, `${d.path}/link`);
  for (const root of ["project", `${d.path}/link`, `${d.path}/none`, `${d.project}/../project`]) {
    expect(reason({ ...d.config, project_root: root })).toBe("canonical_project_root_required");
  }
  const outside = "configuration_and_state_must_be_outside_project";
  for (const key of ["authorization_file", "state_dir"]) {
    for (const path of [d.project, `${d.project}/x`, `${d.path}/link/x`, `${d.path}/none/../project/x`, "relative"]) {
      expect(reason({ ...d.config, [key]: path })).toBe(outside);
    }
  }
  writePrivate(`${d.project}/config.json`, JSON.stringify(d.config));
  expect(reasonOf(() => loadConfig(`${d.project}/config.json`))).toBe(outside);
});

test("configuration and authorization must be private regular files with one link (O081, O086, O088, B51)", async () => {
  await using d = await desk();
  const required = "private_regular_file_required";
  const auth = `${d.path}/auth`;
  for (const [path, read] of [
    [d.configPath, () => loadConfig(d.configPath)],
    [auth, () => readAuthorization(auth)],
  ] as const) {
    chmodSync(path, 0o640);
    expect(reasonOf(read)).toBe(required);
    chmodSync(path, 0o600);
    linkSync(path, `${path}.second`);
    expect(reasonOf(read)).toBe(required);
    unlinkSync(`${path}.second`);
    expect(reasonOf(read)).toBe("taken");
  }
  for (const text of ["", " \n", "a\nb", "a\rb", "Bearer \u20ac"]) {
    writePrivate(auth, text);
    expect(reasonOf(() => readAuthorization(auth))).toBe("invalid_authorization_file");
  }
  writePrivate(auth, "x".repeat(131_072));
  expect(readAuthorization(auth).length).toBe(131_072);
  writePrivate(auth, "x".repeat(131_073));
  expect(reasonOf(() => readAuthorization(auth))).toBe("input_too_large");
});

test("hook config prints configuration and changes no file (O001, O002, O078)", async () => {
  await using d = await desk();
  const home = `${d.path}/codex`;
  mkdirSync(home);

  const words = ["hook", "config", "--config", d.configPath, "--registry", `${d.path}/registry.json`];
  const run = await runProctor(words, { env: { CODEX_HOME: home } });

  expect(run.code).toBe(0);
  const { hooks } = JSON.parse(run.stdout);
  expect(Object.keys(hooks)).toEqual(["PostToolUse", "SessionStart", "UserPromptSubmit"]);
  expect(hooks.PostToolUse[0].hooks[0].command).toStartWith("/usr/bin/env -u BUN_OPTIONS -u BUN_BE_BUN ");
  expect(hooks.PostToolUse[0].hooks[0].command).toEndWith("--deliver background");
  expect(hooks.SessionStart[0].hooks[0].command).toStartWith("/usr/bin/env -u BUN_OPTIONS -u BUN_BE_BUN ");
  // A recovery takes a lock, which the runtime has only with its compiler.
  expect(hooks.SessionStart[0].hooks[0].command).not.toContain("useJIT");
  expect(readdirSync(home)).toEqual([]);
});

test("hostConfig() quotes paths for the host's shell and writes TOML that parses", () => {
  const options = { binary: "/opt/it's/proctor", observeConfig: "/a b/c.json", registry: undefined } as const;

  const toml = Bun.TOML.parse(hostConfig({ ...options, format: "config.toml" })) as {
    hooks: { PostToolUse: Array<{ hooks: Array<{ command: string }> }> };
  };

  expect(toml.hooks.PostToolUse[0]!.hooks[0]!.command).toBe(
    `/usr/bin/env -u BUN_OPTIONS -u BUN_BE_BUN MIMALLOC_ALLOW_THP=1 BUN_JSC_useJIT=0 '/opt/it'"'"'s/proctor' hook observe --config '/a b/c.json' --deliver background`,
  );
});

test("hook config writes whole paths and refuses to print nothing", async () => {
  await using d = await desk();

  const relative = await runProctor(["hook", "config", "--config", "config.json"], { cwd: d.path });
  const nothing = await runProctor(["hook", "config"]);

  expect(JSON.parse(relative.stdout).hooks.PostToolUse[0].hooks[0].command).toContain(`--config ${d.configPath} `);
  expect([nothing.code, nothing.stdout]).toEqual([64, ""]);
}, 60_000);

test("doctor says what is missing and what to do next", async () => {
  await using d = await desk();
  const home = `${d.path}/codex`;
  mkdirSync(home);
  const options = { configPath: d.configPath, registryPath: undefined, codexHome: home };
  const problems = () =>
    hookDoctor(options)
      .findings.filter((one) => !one.ok)
      .map((one) => one.name);

  expect(problems()).toEqual(["configured", "fired"]);
  chmodSync(`${d.path}/auth`, 0o644);
  expect(problems()).toEqual(["authorization", "configured", "fired"]);
  chmodSync(`${d.path}/auth`, 0o600);
  writePrivate(
    `${home}/hooks.json`,
    hostConfig({ binary: "/p", observeConfig: d.configPath, registry: undefined, format: "hooks.json" }),
  );
  expect(problems()).toEqual(["trusted", "fired"]);
  writePrivate(
    `${home}/config.toml`,
    `[hooks.state."${home}/hooks.json:post_tool_use:0:0"]\ntrusted_hash = "sha256:1"\n`,
  );
  await runProctor(["hook", "observe", "--config", d.configPath], { input: d.payload() });
  expect(problems()).toEqual(["observe failures", "delivered"]);
  const run = await runProctor(["hook", "doctor", "--config", d.configPath, "--codex-home", home, "--json"]);
  expect([run.code, JSON.parse(run.stdout).healthy]).toEqual([1, false]);
  expect(run.stdout).toContain("--flush");
});

test("doctor tells an operator what the hooks have one general word for: no JSON, no text, a root that is none", async () => {
  await using d = await desk();
  const registryPath = `${d.path}/registry.json`;
  const told = (name: string) =>
    hookDoctor({ configPath: d.configPath, registryPath, codexHome: d.path }).findings.find((one) => one.name === name)
      ?.text;
  const registry = JSON.stringify({
    version: 1,
    server_url: "http://127.0.0.1:1",
    authorization_file: `${d.path}/auth`,
    state_dir: d.path,
    bindings: [
      {
        project: "agent:host:p",
        project_root: 7,
        project_identity: [1, 2],
        entry_roots: [{ path: d.path, identity: [1, 2] }],
        workflow_session_id: `wc_sess_${"0".repeat(32)}`,
        local_session_id: "",
      },
    ],
  });

  writePrivate(d.configPath, "{");
  expect(told("configuration")).toBe(`${operatorFileCodes.operator_file_not_json} [operator_file_not_json]`);
  writeFileSync(d.configPath, new Uint8Array([0x7b, 0xff, 0x7d]));
  expect(told("configuration")).toBe(`${operatorFileCodes.operator_file_not_text} [operator_file_not_text]`);
  writePrivate(registryPath, "[");
  expect(told("registry")).toBe(`${operatorFileCodes.operator_file_not_json} [operator_file_not_json]`);
  writePrivate(registryPath, registry);
  expect(told("registry")).toBe(`${operatorFileCodes.root_not_text} [root_not_text]`);
});

test("doctor tells of the recovering hook too: associated, configured, trusted, fired, in the registry's own state", async () => {
  await using d = await desk();
  const home = `${d.path}/codex`;
  const [registryPath, stateDir] = [`${d.path}/registry.json`, `${d.path}/recovery`];
  mkdirSync(home);
  mkdirSync(stateDir, { mode: 0o700 });
  const value = { version: 1, server_url: "http://127.0.0.1:1", authorization_file: `${d.path}/auth`, bindings: [] };
  writePrivate(registryPath, JSON.stringify({ ...value, state_dir: stateDir }));
  const options = { configPath: d.configPath, registryPath, codexHome: home };
  const problems = () =>
    hookDoctor(options)
      .findings.filter((one) => !one.ok)
      .map((one) => one.name);

  expect(problems()).toEqual(["registry", "configured", "recover configured", "fired", "recover fired"]);
  writePrivate(
    `${home}/hooks.json`,
    hostConfig({ binary: "/p", observeConfig: d.configPath, registry: registryPath, format: "hooks.json" }),
  );
  expect(problems()).toEqual(["registry", "trusted", "recover trusted", "fired", "recover fired"]);
  const trust = (event: string) => `[hooks.state."${home}/hooks.json:${event}:0:0"]\ntrusted_hash = "sha256:1"\n`;
  writePrivate(`${home}/config.toml`, `${trust("post_tool_use")}${trust("session_start")}`);
  expect(hookDoctor(options).findings.find((one) => one.name === "recover trusted")?.text).toContain(
    "user_prompt_submit",
  );
  const input = JSON.stringify({ hook_event_name: "SessionStart", session_id: "one", cwd: d.project });
  await runProctor(["hook", "recover", "--registry", registryPath], { input });
  expect(problems()).toEqual(["registry", "recover trusted", "fired"]);
  writePrivate(`${home}/config.toml`, "[features]\nhooks = false\n");
  expect(problems()).toContain("feature");
}, 60_000);
