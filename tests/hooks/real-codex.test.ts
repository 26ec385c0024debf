// The round trip that a rollout asks for: the real Codex reads one file through the real MCP endpoint, our hooks run
// inside it as `hook config` prints them, and what arrived is read back through MCP. With the wrong project and with
// the server away as cases of their own.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import type { Json } from "../server/served.ts";
import { proctorBinary } from "../support/binary.ts";
import { runBinary } from "../support/run-binary.ts";
import { writePrivate } from "./desk.ts";
import { moodyFront } from "./moody-front.ts";
import { plane, planeProject } from "./plane.ts";
import {
  type CodexPlace,
  cachedCodex,
  makeCodexHome,
  oneTurn,
  openAppServer,
  recordedModel,
  trustHooks,
} from "./real-codex.ts";

const read = {
  call: "read_files",
  namespace: "mcp__plane",
  args: { project: planeProject, items: [{ path: "owls.txt" }] },
};
/** Per prompt: one real read, then a last word. */
const scenario = {
  turns: [1, 2, 3].flatMap((at) => [
    { when: `errand ${at}`, items: [{ say: "reading", phase: "commentary" as const }, read] },
    { when: `errand ${at}`, items: [{ say: `done ${at}`, phase: "final_answer" as const }] },
  ]),
  fallback: "nothing more",
};

for (const [version, fixture] of [
  ["0.171.0", "real-clients"],
  ["0.144.4", "codex-0.144"],
] as const) {
  const codex = cachedCodex(fixture);
  test.skipIf(codex === null)(
    `real Codex ${version}: one report a real read, none for another project, none lost offline, and the brief reaches the model (O138, O175, O176, O177, O178)`,
    () => roundTrip(codex!),
    240_000,
  );
}

async function roundTrip(codex: string): Promise<void> {
  await using p = await plane();
  await using front = await moodyFront(p.url);
  await using model = recordedModel(scenario);
  writeFileSync(`${p.root}/owls.txt`, "three owls\n");
  const sessionId = await p.session("count the owls in the barn");
  const d = p.desk(sessionId, "not-known-yet", front.url);
  const registry = await associate(p, sessionId, { url: front.url, state: d.state });
  const place: CodexPlace = {
    ...{ codex, home: `${p.folder}/home`, cwd: p.root, modelPort: model.port },
    ...{ mcpUrl: `${p.url}/mcp`, token: p.ann },
  };
  const codexHome = makeCodexHome(place);
  const doctor = async () => {
    const words = ["hook", "doctor", "--json", "--config", d.configPath, "--codex-home", codexHome];
    return JSON.parse((await runBinary(words)).stdout) as Json;
  };
  const ok = (report: Json, name: string) =>
    (report["findings"] as Json[]).find((one) => one["name"] === name)?.["ok"] as boolean | undefined;

  const bare = await doctor();
  const printed = await runBinary(["hook", "config", "--config", d.configPath, "--registry", registry]);
  writeFileSync(`${codexHome}/hooks.json`, printed.stdout);
  const untrusted = await doctor();
  const events = await trustHooks(place);
  const trusted = await doctor();
  await using server = await openAppServer(place);
  const turn = (at: number, changes: Json) =>
    oneTurn(server, {
      cwd: p.root,
      prompt: `errand ${at}`,
      ready: (threadId) => d.configure({ local_session_id: threadId, ...changes }),
    });
  const flush = () => runBinary(["hook", "observe", "--config", d.configPath, "--flush"]);

  // A real read in the approved fixture.
  const first = await turn(1, {});
  const flushed = await flush();
  const rows = await p.mcp("list_external_observations", { project: p.project, session_id: sessionId });
  const fired = await doctor();
  // Another project: the host works elsewhere than the configuration says.
  const elsewhere = `${p.folder}/elsewhere`;
  mkdirSync(elsewhere);
  const second = await turn(2, { project_root: elsewhere });
  await flush();
  const afterWrong = await p.rows(sessionId);
  // Offline: nobody answers during the turn.
  front.mood = "down";
  const third = await turn(3, {});
  const offline = { rows: await p.rows(sessionId), pending: d.pending().length };
  front.mood = "well";
  const delivered = await flush();
  const afterOffline = await p.rows(sessionId);

  expect(
    ["configured", "trusted", "fired"].map((name) => [bare, untrusted, trusted, fired].map((r) => ok(r, name))),
  ).toEqual([
    [false, true, true, true],
    [undefined, false, true, true],
    [false, false, false, true],
  ]);
  expect(events.sort()).toEqual(["postToolUse", "sessionStart", "userPromptSubmit"]);
  expect([first.status, second.status, third.status]).toEqual(["completed", "completed", "completed"]);
  // The first turn: one call ran, one report, unknown without a receipt, and the host saw a hook that said nothing.
  expect(flushed.code).toBe(0);
  const list = rows.structuredContent.output;
  expect(list.observations.map((row: Json) => [row["tool"], row["exit_code"], row["status"]])).toEqual([
    ["mcp__plane__read_files", null, "unknown"],
  ]);
  expect([list.provenance, list.coverage.complete]).toEqual(["external_report", false]);
  const observer = first.hooks.filter((run) => run["eventName"] === "postToolUse");
  expect(observer.map((run) => [run["status"], run["entries"]])).toEqual([["completed", []]]);
  const recovering = first.hooks.filter((run) => run["eventName"] !== "postToolUse");
  expect(recovering.length).toBeGreaterThan(0);
  expect(recovering.filter((run) => run["status"] !== "completed")).toEqual([]);
  // The saved state reached the model, with the request of this very turn.
  const asked = model.requests.filter((text) => text.includes("errand 1"));
  expect(asked.some((text) => text.includes("count the owls in the barn") && text.includes(sessionId))).toBe(true);
  // The wrong project left nothing, and offline nothing was lost.
  expect(afterWrong).toEqual(list.observations);
  expect(offline).toEqual({ rows: list.observations, pending: 1 });
  expect(delivered.code).toBe(0);
  expect(afterOffline.map((row) => row["status"])).toEqual(["unknown", "unknown"]);
  expect(new Set(afterOffline.map((row) => row["event_id"])).size).toBe(2);
}

/** A registry whose one binding lets this folder read the Session. */
async function associate(
  p: Awaited<ReturnType<typeof plane>>,
  sessionId: string,
  at: { readonly url: string; readonly state: string },
): Promise<string> {
  const registry = `${p.folder}/registry.json`;
  writePrivate(`${p.folder}/auth`, `Bearer ${p.ann}\n`);
  const value = { version: 1, server_url: at.url, authorization_file: `${p.folder}/auth`, state_dir: at.state };
  writePrivate(registry, JSON.stringify({ ...value, bindings: [] }));
  const words = ["--registry", registry, "--project-root", p.root, "--session", sessionId, "--entry-root", p.root];
  const tied = await runBinary(["recovery", "associate", ...words]);
  if (tied.code !== 0) throw new Error(`${proctorBinary}: ${tied.stdout}${tied.stderr}`);
  return registry;
}
