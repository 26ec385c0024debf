// The run with an account: opt-in, by hand, with the CLI's own login; and what the docs and CI say about it.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkOptions, failureOf } from "../../src/harness/harness.ts";
import { modelFlags, modelSeat, needsModel } from "../../src/harness/model-seat.ts";
import type { Run } from "../../src/harness/run.ts";
import { childEnvironment, createOutputFolder, createWorkspace } from "../../src/harness/workspace.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { acceptOptions } from "./stage-run.ts";

const text = (path: string) => readFileSync(`${projectRoot}${path}`, "utf8");
const page = (path: string) => text(path).replace(/\s+/g, " ");

test("no script of CI asks for an account, and the command needs both real seats and its option for it (O013)", () => {
  const workflows = readdirSync(`${projectRoot}.github/workflows`).map((name) => `.github/workflows/${name}`);
  const scripts = readdirSync(`${projectRoot}scripts`).map((name) => `scripts/${name}`);
  for (const path of [".ci/run", "package.json", ...workflows, ...scripts])
    expect([path, /model-endpoint["', =]+account|OPENAI_API_KEY|CODEX_API_KEY|auth\.json/.test(text(path))]).toEqual([
      path,
      false,
    ]);

  const code = (more: object) => {
    try {
      checkOptions(acceptOptions("/nowhere", more), "linux");
      return "none";
    } catch (error) {
      return failureOf(error);
    }
  };
  expect(code({ account: true })).toBe("account_seats_required");
  expect(code({ account: true, codexPath: "/bin/sh" })).toBe("account_seats_required");
  expect(code({ account: false })).toBe("none");
  expect(page("docs/acceptance-log.md")).toContain("opt-in and by hand, on a POSIX host");
});

test("with an account the CLI keeps its home, its login and its own provider; without one it gets neither (O015)", async () => {
  await using dir = await tempFolder();
  const space = createWorkspace(createOutputFolder(join(dir.path, "out")));
  const host = { HOME: "/home/person", CODEX_HOME: "/home/person/.codex", PATH: "/usr/bin", HTTPS_PROXY: "http://p" };

  const own = childEnvironment(host, space, true);
  expect([own["HOME"], own["CODEX_HOME"], own["HTTPS_PROXY"]]).toEqual([host.HOME, host.CODEX_HOME, "http://p"]);
  const isolated = childEnvironment(host, space, false);
  expect([isolated["HOME"], isolated["CODEX_HOME"]]).toEqual([space.home, space.codexHome]);
  expect(isolated["HTTPS_PROXY"]).toBeUndefined();

  const real = { codexPath: "/c", adapterScript: "/a" };
  const self = { version: "0", path: "/p", sha256: "0".repeat(64) };
  const account = acceptOptions(dir.path, { ...real, account: true });
  const standin = acceptOptions(dir.path, { ...real, account: false });
  expect([needsModel(account), needsModel(standin)]).toEqual([false, true]);
  expect(modelSeat(standin, self)?.kind).toBe("standin");
  expect(modelFlags({ options: account, services: { model: null } } as unknown as Run)).toEqual([]);
});

test("the acceptance log is dated, names versions and failures, and says how far its evidence goes (O014)", () => {
  const log = text("docs/acceptance-log.md");
  const rows = log.split("\n").filter((line) => /^\| (?!date|---)/.test(line));
  expect(rows.length).toBeGreaterThan(3);
  for (const row of rows) expect(row).toMatch(/^\| 20\d\d-\d\d-\d\d \|([^|]+\|){3}$/);
  expect(log).toContain("real Codex 0.171.0 and codex-acp 2.1.1");
  expect(log).toContain("## What failed on the way");
  expect(log).toContain("## What this does not prove");
});

test("the docs claim no two-sided interface and no prototype's acceptance, and ask for a real round trip first (O011 O138 O174)", () => {
  const log = page("docs/acceptance-log.md");
  expect(log).toContain("No two-sided user interface was accepted");
  expect(log).toContain("a prototype built on this was once accepted elsewhere counts for nothing here");
  expect(log).toContain("Before a roll-out a round trip with the real client over MCP is required");
  expect(page("docs/hooks.md")).toContain("A two-sided user interface was not accepted here");
  // CI does the round trip it asks for.
  expect(text(".ci/run")).toMatch(/accept:real/);
});

test("the docs name three boundaries with an owner and an acceptance each, reports as claims, and what tests do not reach (O007 O009 O173)", () => {
  const hooks = page("docs/hooks.md");
  expect(hooks).toContain("## Three boundaries");
  expect(hooks).toMatch(
    /Hooks record external claims\. Managed runs go through task, attempt and run\. Each has its own owner and its own acceptance/,
  );
  expect(hooks).toMatch(/Using tools needs the MCP endpoint, a credential and a registered Project/);
  expect(hooks).toContain("Unit tests use made-up payloads and controlled servers.");
  expect(hooks).toMatch(/no browser and no hosted chat took part/);
  expect(hooks).toContain("labelled untrusted history");
  expect(hooks).toContain("coverage always says incomplete");
});
