// Reading saved state: the handoff's checks, the registry, the recovery hook and the operator's associations.
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { operatorFileCodes } from "../../src/hooks/codes.ts";
import { isAcceptance } from "../../src/hooks/handoff-check.ts";
import type { HookInput } from "../../src/hooks/hook-input.ts";
import { recover } from "../../src/hooks/recover.ts";
import { associate, discover, forget, listBindings } from "../../src/hooks/recovery.ts";
import { type Asked, type Desk, desk, recordingServer, runProctor, writePrivate } from "./desk.ts";

const brief = (note = "") => ({
  session: { session_id: "wc_sess_fixture" },
  basis: { complete: false },
  external_observations: {
    provenance: "external_report",
    coverage: { complete: false },
    unknown_count: 1,
    observations: [{ status: "unknown" }],
  },
  deterministic: true,
  llm_summary: false,
  note,
});

const acceptance = (state = "ready_for_review") => ({
  version: 1,
  state,
  reason_codes: ["tests_passed"],
  evidence_refs: [{ kind: "report", id: "r1" }],
  truncated: false,
  advisory: true,
});

/** A server whose every part a test can change. */
function fixtureServer(root: () => string) {
  const world = {
    output: { project: "agent:fixture:project", session_id: "wc_sess_fixture", handoff_brief: brief() } as Record<
      string,
      unknown
    >,
    success: true,
    projects: () => [{ id: "agent:fixture:project", path: root() }] as unknown[],
    sessions: [{ session_id: "wc_sess_fixture", title: "work" }] as unknown[],
    truncated: false,
  };
  const server = recordingServer((asked: Asked) => {
    if (asked.path.endsWith("/projects")) {
      return Response.json({ projects: world.projects(), total: 1, truncated: world.truncated });
    }
    if (asked.path.endsWith("/workflow-sessions")) {
      return Response.json({ sessions: world.sessions, truncated: world.truncated });
    }
    return Response.json({ success: world.success, output: world.output });
  });
  return { world, server };
}

function registryAt(d: Desk, url: string): string {
  const path = `${d.path}/registry.json`;
  const value = { version: 1, server_url: url, authorization_file: `${d.path}/auth`, state_dir: d.state, bindings: [] };
  writePrivate(path, JSON.stringify(value));
  return path;
}

const input = (value: unknown): HookInput => ({
  bytes: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
  overLimit: false,
  ended: true,
});

function payload(d: Desk, event: string, changes: object = {}) {
  return input({ hook_event_name: event, session_id: "local-one", cwd: d.project, ...changes });
}

function contextOf(text: string): Record<string, unknown> {
  if (text === "{}") return {};
  const context = JSON.parse(text).hookSpecificOutput.additionalContext as string;
  return JSON.parse(context.slice(context.indexOf("\n") + 1));
}

test("handoff read gives the exact Session's brief and keeps every section as it is (O112, O113, O122, O126)", async () => {
  await using d = await desk();
  const { world, server } = fixtureServer(() => d.project);
  await using _ = server;
  d.configure({ server_url: server.url });
  world.output = { ...world.output, acceptance: acceptance() };
  mkdirSync(`${d.project}/sub`);

  const run = await runProctor(["handoff", "read", "--config", d.configPath], { cwd: `${d.project}/sub` });
  const elsewhere = await runProctor(["handoff", "read", "--config", d.configPath], { cwd: d.path });

  const result = JSON.parse(run.stdout);
  expect(run.code).toBe(0);
  expect(result.handoff_brief).toEqual(brief());
  expect(result.acceptance).toEqual(acceptance());
  expect(run.stdout).not.toContain("Bearer");
  expect([elsewhere.code, elsewhere.stdout, JSON.parse(elsewhere.stderr)]).toEqual([
    1,
    "",
    { status: "unavailable", reason: "outside_configured_project" },
  ]);
  expect(server.asked.map((one) => one.body)).toEqual([
    { tool: "get_session_handoff_state", params: { project: "agent:fixture:project", session_id: "wc_sess_fixture" } },
  ]);
  expect(readdirSync(d.state)).toEqual([]);
}, 120_000);

test("recover refuses every altered answer with its own code (O117, O118, O119, O120, O121, O130)", async () => {
  await using d = await desk();
  const { world, server } = fixtureServer(() => d.project);
  await using _ = server;
  const registryPath = registryAt(d, server.url);
  await associate(
    { projectRoot: d.project, session: "wc_sess_fixture", entryRoots: [d.project], localSession: "" },
    { registryPath },
  );
  const good = world.output;
  await recover(payload(d, "SessionStart"), { registryPath });
  const [snapshot] = readdirSync(d.state).filter((name) => name.startsWith("recovery-"));
  const before = readFileSync(`${d.state}/${snapshot}`);
  const altered: Array<readonly [Record<string, unknown>, string]> = [
    [{ project: "agent:other:project" }, "handoff_identity_mismatch"],
    [{ session_id: "wc_sess_other" }, "handoff_identity_mismatch"],
    [{ handoff_brief: { ...brief(), session: { session_id: "x" } } }, "handoff_identity_mismatch"],
    [{ handoff_brief: { ...brief(), basis: { complete: "no" } } }, "handoff_basis_missing"],
    [{ handoff_brief: { ...brief(), external_observations: null } }, "handoff_external_observations_missing"],
    [{ handoff_brief: { ...brief(), llm_summary: true } }, "handoff_contract_invalid"],
    [{ goal_context: { version: 1 } }, "handoff_goal_context_invalid"],
    [{ acceptance: { ...acceptance(), extra: "CANARY" } }, "handoff_acceptance_invalid"],
  ];

  for (const [change, code] of altered) {
    world.output = { ...good, ...change };
    const answer = await recover(payload(d, "UserPromptSubmit"), { registryPath });
    expect([answer.failed, JSON.parse(answer.text).reason]).toEqual([true, code]);
    expect(answer.text).not.toContain("CANARY");
  }
  world.success = false;
  expect(JSON.parse((await recover(payload(d, "SessionStart"), { registryPath })).text).reason).toBe(
    "handoff_read_failed",
  );
  expect(readFileSync(`${d.state}/${snapshot}`)).toEqual(before);
});

test("acceptance has exactly its form and size", () => {
  expect(isAcceptance(acceptance())).toBe(true);
  expect(isAcceptance({ ...acceptance(), state: "done" })).toBe(false);
  expect(isAcceptance({ ...acceptance(), advisory: false })).toBe(false);
  expect(isAcceptance({ ...acceptance(), reason_codes: Array.from({ length: 16 }, () => "a") })).toBe(true);
  expect(isAcceptance({ ...acceptance(), reason_codes: Array.from({ length: 17 }, () => "a") })).toBe(false);
  const refs = (length: number) => Array.from({ length: 15 }, () => ({ kind: "k", id: "i".repeat(length) }));
  expect(isAcceptance({ ...acceptance(), evidence_refs: refs(200) })).toBe(true);
  expect(isAcceptance({ ...acceptance(), evidence_refs: refs(256) })).toBe(false);
});

test("recover offers a change, refers to what is unchanged, and starts whole (O139, O155, O156, O157, O158, O162, O164)", async () => {
  await using d = await desk();
  const { world, server } = fixtureServer(() => d.project);
  await using _ = server;
  const registryPath = registryAt(d, server.url);
  const wanted = { projectRoot: d.project, session: "wc_sess_fixture", entryRoots: [d.project], localSession: "" };
  await associate(wanted, { registryPath });
  const statusAt = async (event: string) => {
    const answer = await recover(payload(d, event), { registryPath });
    return contextOf(answer.text)["status"];
  };

  expect(await statusAt("UserPromptSubmit")).toBe("read");
  expect(await statusAt("UserPromptSubmit")).toBe("unchanged");
  expect(await statusAt("SessionStart")).toBe("read");
  world.output = { ...world.output, acceptance: acceptance() };
  expect(await statusAt("UserPromptSubmit")).toBe("read");
  world.output = { ...world.output, handoff_brief: brief("new") };
  const { text } = await recover(payload(d, "UserPromptSubmit"), { registryPath });
  for (const part of ["untrusted historical data", "does not bind", '\\"status\\": \\"unknown\\"']) {
    expect(text).toContain(part);
  }
  const asked = server.asked.length;
  expect((await recover(payload(d, "PostToolUse"), { registryPath })).text).toBe("{}");
  expect((await recover(payload(d, "Stop"), { registryPath })).text).toBe("{}");
  expect(server.asked.length).toBe(asked);
  world.output = { ...world.output, handoff_brief: brief("x".repeat(25_000)) };
  const large = contextOf((await recover(payload(d, "SessionStart"), { registryPath })).text);
  expect(large["status"]).toBe("read_snapshot");
  expect(JSON.stringify(large).length).toBeLessThan(1000);
  expect(statSync(large["snapshot_path"] as string).mode & 0o777).toBe(0o600);
});

test("recover chooses by identity alone (O148, O149, O150, O151, O153)", async () => {
  await using d = await desk();
  const { world, server } = fixtureServer(() => d.project);
  await using _ = server;
  world.sessions = ["fixture", "two"].map((name) => ({ session_id: `wc_sess_${name}` }));
  const registryPath = registryAt(d, server.url);
  const bind = (session: string, localSession: string) =>
    associate({ projectRoot: d.project, session, entryRoots: [d.project], localSession }, { registryPath });
  const answer = async (event: string, changes: object = {}) =>
    (await recover(payload(d, event, changes), { registryPath })).text;

  expect(contextOf(await answer("SessionStart"))["status"]).toBe("unassociated");
  expect(await answer("UserPromptSubmit")).toBe("{}");
  await bind("wc_sess_fixture", "local-one");
  expect(contextOf(await answer("SessionStart"))["status"]).toBe("read");
  expect(contextOf(await answer("SessionStart", { session_id: "other" }))["status"]).toBe("unassociated");
  await bind("wc_sess_two", "");
  await bind("wc_sess_fixture", "");
  expect(contextOf(await answer("SessionStart"))["status"]).toBe("read");
  expect(contextOf(await answer("SessionStart", { session_id: "other" }))).toEqual({
    status: "selection_required",
    candidates: [
      { project: "agent:fixture:project", session_id: "wc_sess_two" },
      { project: "agent:fixture:project", session_id: "wc_sess_fixture" },
    ],
  });
  mkdirSync(`${d.project}/nested/.git`, { recursive: true });
  mkdirSync(`${d.project}/plain`);
  expect(contextOf(await answer("SessionStart", { cwd: `${d.project}/nested` }))["status"]).toBe("unassociated");
  expect(contextOf(await answer("SessionStart", { cwd: `${d.project}/plain` }))["status"]).toBe("read");
});

test("recover notices replaced roots, moved Projects and a registry that changed (O152, O154, O161)", async () => {
  await using d = await desk();
  let path = d.project;
  const { world, server } = fixtureServer(() => path);
  await using _ = server;
  const registryPath = registryAt(d, server.url);
  await associate(
    { projectRoot: d.project, session: "wc_sess_fixture", entryRoots: [d.project], localSession: "" },
    { registryPath },
  );
  const reason = async () => {
    const answer = await recover(payload(d, "SessionStart"), { registryPath });
    return answer.failed ? JSON.parse(answer.text).reason : "read";
  };

  path = "/elsewhere";
  expect(await reason()).toBe("project_identity_missing_or_ambiguous");
  path = d.project;
  let looks = 0;
  world.projects = () => [{ id: looks++ === 0 ? "agent:fixture:project" : "agent:fixture:moved", path }];
  expect(await reason()).toBe("project_binding_changed");
  world.projects = () => {
    if (looks++ % 2 === 0) writePrivate(registryPath, readFileSync(registryPath, "utf8").replace('""', '"x"'));
    return [{ id: "agent:fixture:project", path }];
  };
  looks = 0;
  expect(await reason()).toBe("registry_changed");
  writePrivate(registryPath, readFileSync(registryPath, "utf8").replace('"x"', '""'));
  world.projects = () => [{ id: "agent:fixture:project", path }];
  renameSync(d.project, `${d.path}/moved`);
  mkdirSync(d.project);
  expect(await reason()).toBe("entry_root_replaced");
  expect(readdirSync(d.state).filter((name) => name.startsWith("recovery-"))).toEqual([]);
});

test("a server that is down fails the recovery and shows nothing stored (O161)", async () => {
  await using d = await desk();
  const { server } = fixtureServer(() => d.project);
  const registryPath = registryAt(d, server.url);
  await associate(
    { projectRoot: d.project, session: "wc_sess_fixture", entryRoots: [d.project], localSession: "" },
    { registryPath },
  );
  await recover(payload(d, "SessionStart"), { registryPath });
  await server[Symbol.asyncDispose]();

  const run = await runProctor(["hook", "recover", "--registry", registryPath], {
    input: JSON.stringify({ hook_event_name: "SessionStart", session_id: "local-one", cwd: d.project }),
  });

  expect([run.code, Object.keys(JSON.parse(run.stdout)), JSON.parse(run.stdout).reason]).toEqual([
    1,
    ["systemMessage", "reason"],
    "read_unconfirmed",
  ]);
});

test("recovery on a bad registry gives an operator the sentence and the code, and an agent's host its own form", async () => {
  await using d = await desk();
  const registryPath = `${d.path}/registry.json`;
  writePrivate(registryPath, "[");
  const words = ["--registry", registryPath];
  const code = "operator_file_not_json";
  const message = operatorFileCodes[code];

  const list = await runProctor(["recovery", "list", ...words]);
  const forgotten = await runProctor(["recovery", "forget", ...words, "--session", "wc_sess_1"]);
  const found = await runProctor(["recovery", "discover", ...words, "--project-root", d.project]);

  for (const one of [list, forgotten])
    expect([one.code, JSON.parse(one.stdout)]).toEqual([1, { status: "failed", reason: code, message }]);
  expect([found.code, Object.keys(JSON.parse(found.stdout))]).toEqual([1, ["systemMessage", "reason"]]);
  expect(list.stderr).toBe(`proctor recovery list: ${message} [${code}]\n`);
  expect(found.stderr).toBe(`proctor recovery discover: ${message} [${code}]\n`);
  expect(readFileSync(registryPath, "utf8")).toBe("[");
}, 180_000);

test("a hook names its own flag that is given twice, and says nothing back that it does not know", async () => {
  const twice = await runProctor(["hook", "observe", "--config", "/a", "--config=/b"], { input: "" });
  const foreign = await runProctor(["hook", "observe", "--secret-word", "--secret-word"], { input: "" });

  expect([twice.code, twice.stderr]).toEqual([
    64,
    "proctor hook observe: --config may be given once only. Try `proctor hook observe --help`.\n",
  ]);
  expect([foreign.code, foreign.stderr.includes("secret")]).toEqual([64, false]);
}, 120_000);

test("discover writes nothing, associate once, list and forget (O142, O143, O144, O145)", async () => {
  await using d = await desk();
  const { world, server } = fixtureServer(() => d.project);
  await using _ = server;
  const registryPath = registryAt(d, server.url);
  const before = readFileSync(registryPath);
  const wanted = { projectRoot: d.project, session: "wc_sess_fixture", entryRoots: [d.project], localSession: "" };

  const found = await discover(d.project, { registryPath });

  expect(found).toMatchObject({ project: "agent:fixture:project", project_root: d.project, writes: false });
  expect(readFileSync(registryPath)).toEqual(before);
  expect((await associate(wanted, { registryPath }))["status"]).toBe("associated");
  expect((await associate(wanted, { registryPath }))["status"]).toBe("already_associated");
  expect(statSync(registryPath).mode & 0o777).toBe(0o600);
  expect(listBindings({ registryPath })["bindings"]).toHaveLength(1);
  await expect(associate({ ...wanted, session: "wc_sess_none" }, { registryPath })).rejects.toThrow(
    "session_not_in_exact_project",
  );
  await expect(associate({ ...wanted, entryRoots: [d.path] }, { registryPath })).rejects.toThrow(
    "operator_files_must_be_outside_projects",
  );
  world.truncated = true;
  await expect(discover(d.project, { registryPath })).rejects.toThrow("project_inventory_incomplete");
  expect(forget({ session: "wc_sess_fixture", localSession: undefined }, { registryPath })).toMatchObject({
    removed: 1,
  });
  expect(() => forget({ session: "wc_sess_fixture", localSession: undefined }, { registryPath })).toThrow(
    "association_not_found",
  );
});

test("the registry is refused unless private and exactly formed (O140, O141)", async () => {
  await using d = await desk();
  const registryPath = registryAt(d, "http://127.0.0.1:1");
  const good = JSON.parse(readFileSync(registryPath, "utf8"));
  const reason = (value: unknown) => {
    writePrivate(registryPath, JSON.stringify(value));
    try {
      listBindings({ registryPath });
      return "taken";
    } catch (error) {
      return (error as Error).message;
    }
  };

  expect(reason(good)).toBe("taken");
  for (const key of Object.keys(good)) {
    const { [key]: _, ...rest } = good;
    expect(reason(rest)).toBe("invalid_recovery_registry");
    expect(reason({ ...good, [key]: [7] })).not.toBe("taken");
  }
  expect(reason({ ...good, more: 1 })).toBe("invalid_recovery_registry");
  expect(reason({ ...good, version: true })).toBe("invalid_recovery_registry");
  expect(reason({ ...good, server_url: "http://example.com" })).toBe("https_or_loopback_origin_required");
  expect(reason({ ...good, state_dir: "state" })).toBe("absolute_authorization_file_required");
  expect(reason({ ...good, bindings: Array.from({ length: 65 }, () => ({})) })).toBe("invalid_recovery_registry");
  expect(reason({ ...good, bindings: Array.from({ length: 64 }, () => ({})) })).toBe("invalid_recovery_association");
  reason(good);
  chmodSync(registryPath, 0o644);
  expect(() => listBindings({ registryPath })).toThrow("private_regular_file_required");
});
