// The findings of `proctor doctor`, each provoked on a host made for the test.
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { findings } from "../../src/commands/doctor-checks.ts";
import type { DoctorHost, Finding } from "../../src/commands/doctor-finding.ts";
import { namedHooks, wordsOf } from "../../src/commands/doctor-hooks.ts";
import { hostConfig } from "../../src/hooks/host-config.ts";
import { type TempFolder, tempFolder } from "../support/temp-folder.ts";

/** A host with nothing but what the test puts there. */
function hostIn(dir: TempFolder): DoctorHost {
  for (const name of ["bin", "home", "temp"]) mkdirSync(`${dir.path}/${name}`);
  return {
    environment: { PATH: `${dir.path}/bin`, SECRET: "canary-4711" },
    home: `${dir.path}/home`,
    state: `${dir.path}/home/.local/state/proctor`,
    temp: `${dir.path}/temp`,
  };
}

function program(dir: TempFolder, name: string, body: string): void {
  writeFileSync(`${dir.path}/bin/${name}`, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
}

async function findingsOf(host: DoctorHost): Promise<Record<string, Finding>> {
  return Object.fromEntries((await findings(host)).map((one) => [one.check, one]));
}

test("doctor on a bare host: git is a problem, the rest are notes, and each names its next step", async () => {
  await using dir = await tempFolder();

  const found = await findingsOf(hostIn(dir));

  expect(found.git).toMatchObject({ outcome: "problem", says: "not found on PATH" });
  for (const check of ["python3", "node", "codex", "adapter", "hooks"]) expect(found[check]?.outcome).toBe("note");
  for (const one of Object.values(found)) expect(one.outcome === "ok" || (one.next ?? "").length > 10).toBe(true);
  expect(JSON.stringify(found)).not.toContain("canary");
  expect(JSON.stringify(found)).not.toContain(dir.path);
});

test("doctor judges versions: too old, just right, not the one tried, no number, no answer", async () => {
  await using dir = await tempFolder();
  const host = hostIn(dir);
  program(dir, "git", "echo git version 2.27.9");
  program(dir, "python3", "echo Python 3.10.0");
  program(dir, "codex", "echo codex-cli 0.172.0");
  program(dir, "node", "echo hello");

  const found = await findingsOf(host);

  expect(found.git).toMatchObject({ outcome: "problem", says: "version 2.27.9" });
  expect(found.python3).toEqual({ check: "python3", outcome: "ok", says: "version 3.10.0" });
  expect(found.codex).toMatchObject({ outcome: "note", says: "version 0.172.0; this build was tried with 0.171.0" });
  expect(found.node).toMatchObject({ outcome: "note", says: "answers without a version" });

  program(dir, "git", "echo git version 2.28.0");
  program(dir, "python3", "echo Python 3.9.18");
  program(dir, "codex", "echo codex-cli 0.171.0");
  program(dir, "node", "exit 3");
  const later = await findingsOf({ ...host, temp: mkdirTemp(dir) });
  expect(later.git?.outcome).toBe("ok");
  expect(later.python3).toMatchObject({ outcome: "note", says: "version 3.9.18" });
  expect(later.codex?.outcome).toBe("ok");
  expect(later.node).toMatchObject({ outcome: "problem", says: "found, but it does not answer --version" });
});

function mkdirTemp(dir: TempFolder): string {
  mkdirSync(`${dir.path}/temp-2`);
  return `${dir.path}/temp-2`;
}

test("doctor reads the adapter's version from its package and never starts it", async () => {
  await using dir = await tempFolder();
  const host = hostIn(dir);
  const home = `${dir.path}/lib/node_modules/@agentclientprotocol/codex-acp`;
  mkdirSync(`${home}/dist`, { recursive: true });
  writeFileSync(`${home}/dist/index.js`, `#!/bin/sh\ntouch ${dir.path}/started\n`, { mode: 0o755 });
  symlinkSync(`${home}/dist/index.js`, `${dir.path}/bin/codex-acp`);
  const manifest = (version: unknown) =>
    writeFileSync(`${home}/package.json`, JSON.stringify({ name: "@agentclientprotocol/codex-acp", version }));

  manifest("2.1.1");
  expect((await findingsOf(host)).adapter).toEqual({ check: "adapter", outcome: "ok", says: "version 2.1.1" });
  manifest("2.1.2");
  expect((await findingsOf({ ...host, temp: mkdirTemp(dir) })).adapter?.next).toContain("codex-acp@2.1.1");
  expect(await Bun.file(`${dir.path}/started`).exists()).toBe(false);
});

test("doctor finds a state folder that could only lie below a file", async () => {
  await using dir = await tempFolder();
  const host = hostIn(dir);
  writeFileSync(`${dir.path}/file`, "");

  const found = (await findingsOf({ ...host, state: `${dir.path}/file/state/proctor` }))["state folder"];
  expect(found).toMatchObject({ outcome: "problem", says: "not there, and it cannot be made" });
});

test("doctor finds an open state folder, and a file where it should be", async () => {
  await using dir = await tempFolder();
  const host = hostIn(dir);
  mkdirSync(host.state!, { recursive: true, mode: 0o700 });
  expect((await findingsOf(host))["state folder"]).toMatchObject({ outcome: "ok", says: "private" });
  chmodSync(host.state!, 0o755);
  const open = await findingsOf({ ...host, temp: mkdirTemp(dir) });

  expect(open["state folder"]?.outcome).toBe("problem");
  expect(open["state folder"]?.next).toContain("chmod 700");
});

test("doctor says what to do without a home and with a changed runtime", async () => {
  await using dir = await tempFolder();
  const host = hostIn(dir);

  const found = await findingsOf({
    ...host,
    home: null,
    state: null,
    environment: { ...host.environment, BUN_BE_BUN: "1" },
  });

  expect(found["file system"]?.next).toContain("HOME");
  expect(found["state folder"]?.next).toContain("XDG_STATE_HOME");
  expect(found.environment).toMatchObject({ outcome: "problem", says: "BUN_BE_BUN set" });
});

test("doctor finds the hooks that `hook config` printed, in either file, with odd names, and says what is open", async () => {
  await using dir = await tempFolder();
  const host = hostIn(dir);
  const codexHome = `${dir.path}/home/.codex`;
  mkdirSync(codexHome);
  const observeConfig = `${dir.path}/it's an observer.json`;
  const registry = `${dir.path}/registry.json`;
  const options = { binary: "/opt/proctor", observeConfig, registry };
  const expected = [
    { kind: "observe", file: observeConfig },
    { kind: "recover", file: registry },
    { kind: "recover", file: registry },
  ];

  writeFileSync(`${codexHome}/config.toml`, hostConfig({ ...options, format: "config.toml" }));
  expect(namedHooks(codexHome)).toEqual(expected as never);
  writeFileSync(`${codexHome}/config.toml`, "= broken");
  writeFileSync(`${codexHome}/hooks.json`, hostConfig({ ...options, format: "hooks.json" }));
  expect(namedHooks(codexHome)).toEqual(expected as never);

  const { hooks } = await findingsOf(host);
  expect(hooks?.outcome).toBe("problem");
  expect(hooks?.says).toStartWith("1 observing, one recovering; open: configuration");
  expect(hooks?.next).toContain("proctor hook doctor");
  expect(JSON.stringify(hooks)).not.toContain(dir.path);
});

test("wordsOf() reads plain, quoted and joined words", () => {
  expect(wordsOf(`/usr/bin/env -u X  '/a b/it'"'"'s' "two words"`)).toEqual([
    "/usr/bin/env",
    "-u",
    "X",
    "/a b/it's",
    "two words",
  ]);
});
