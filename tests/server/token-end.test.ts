// A Runner's socket ends with the token that opened it: revoked over REST, revoked by the operator in another process,
// or expired. What the Runner was at work on follows the rules for a lost Runner, and is never prompted again.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";
import { openRunnerLink } from "../../src/server/runner-link.ts";
import { ControlPair } from "../support/control-pair.ts";
import { handClock } from "../support/hand-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { type LocalServer, localServer } from "./local-server.ts";
import { serverEnvironment } from "./served.ts";

const startMs = Date.UTC(2026, 0, 1);

test("a socket is closed before its revocation is answered, and once its token has expired; another one stays", async () => {
  const clock = handClock({ wallMs: startMs });
  await using server = await localServer(undefined, { clock, openLink: openRunnerLink });
  await server.post("/api/users/create", { username: "ann" });
  const made = async (client_id: string, expires_at?: number) =>
    (await server.post("/api/agent-tokens/create", { username: "ann", client_id, expires_at })).body;
  const [revoked, expiring, lasting] = [await made("one"), await made("two", startMs / 1000 + 60), await made("three")];
  const first = await registered(server, revoked.token, "one");
  const second = await registered(server, expiring.token, "two");
  const third = await registered(server, lasting.token, "three");

  const answer = await server.post("/api/tokens/revoke", { token_id: revoked.token_id });
  const afterRevoke = [await first.ended, second.open(), third.open()];
  clock.advance(60_000);
  const afterExpiry = [await second.ended, third.open()];
  third.socket.close();

  const told = { code: 1008, last: { type: "error", code: "token_ended", message: "token_ended" } };
  expect([answer.status, ...afterRevoke]).toEqual([200, told, true, true]);
  expect(afterExpiry).toEqual([told, true]);
}, 120_000);

interface OpenRunner {
  readonly socket: WebSocket;
  readonly ended: Promise<{ code: number; last: unknown }>;
  open(): boolean;
}

/** A socket that registered as this client, with the last frame it gets. */
async function registered(server: LocalServer, token: string, client_id: string): Promise<OpenRunner> {
  const headers = { Authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/agents/ws`, { headers } as never);
  const [ready, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<{ code: number; last: unknown }>()];
  const register = { type: "register", client_id, agent_instance_id: client_id, agent_protocol_generation: 2 };
  const offers = { capabilities: {}, projects: [], coding_agent_providers: [], coding_agent_inventory: { runs: [] } };
  let last: unknown;
  socket.onopen = () => socket.send(JSON.stringify({ ...register, ...offers }));
  socket.onmessage = (event) => {
    last = JSON.parse(String(event.data));
    ready.resolve();
  };
  socket.onclose = ({ code }) => ended.resolve({ code, last });
  await ready.promise;
  return { socket, ended: ended.promise, open: () => socket.readyState === WebSocket.OPEN };
}

test("a token revoked by the operator cuts a Runner at work: it cannot come back, nothing is prompted again, and the run is lost with it", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const attempt = await pair.attempt();
  const runId = (await pair.startRun(attempt.attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, (output) => output.execution_state === "started");
  const config = readFileSync(`${dir.path}/runner.toml`, "utf8");
  const token = /^token = "(.*)"$/m.exec(config)![1]!;
  const listed = await pair.post("/api/tokens/list", {});
  const { token_id } = listed.tokens.find((one: { kind: string }) => one.kind === "agent");

  const self = selfCommand(["server", "token", "revoke", token_id]);
  const env = serverEnvironment(dir.path, 1);
  const done = await runProgram({ ...self, cwd: dir.path, env, timeoutMs: 60_000, maxOutputBytes: 65_536 });
  const gone = async () => (await pair.call("list_projects", {})).output.projects.length === 0;
  const offline = await holdsWithin(gone, { withinMs: 60_000 });
  const headers = { authorization: `Bearer ${token}` };
  const back = await fetch(`${pair.url}/api/agents/ws`, { headers });
  const unseen = await pair.call("observe_coding_agent", { run_id: runId });
  const refused = await pair.startRun((await pair.attempt()).attempt_ref);
  const running = pair.runner!.running();

  await pair.runner!.stop({ firstSignal: "SIGKILL" });
  const fresh = await pair.post("/api/agent-tokens/create", { username: "ann", client_id: "box" });
  writeFileSync(`${dir.path}/runner.toml`, config.replace(token, fresh.token));
  await pair.startRunner();
  const end = await pair.observeUntil(runId, (output) => output.terminal !== null);

  expect([done.code, offline, back.status, running]).toEqual([0, true, 401, true]);
  const unavailable = "coding_agent_runner_unavailable";
  expect(unseen.output).toMatchObject({ error_kind: unavailable, execution_state: "outcome_unknown", run_id: runId });
  expect(refused.output).toMatchObject({ error_kind: unavailable, state_changed: false });
  expect(end).toMatchObject({ state: "lost", execution_state: "outcome_unknown" });
  expect(pair.prompts()).toBe(1);
}, 300_000);
