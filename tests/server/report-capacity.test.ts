// The bound over all Sessions, and a caller that never hears the answer.
import { expect, test } from "bun:test";
import { holdsWithin } from "../../src/base/clock.ts";
import { serverLimits } from "../../src/server/limits.ts";
import { recordReport } from "../../src/server/observations.ts";
import { openStore } from "../../src/server/store.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bootstrapToken, localServer, offering } from "./local-server.ts";

const report = (session_id: string, count: number) => ({
  project: "agent:host:fixture",
  session_id,
  adapter_id: "a".repeat(64),
  event_id: count.toString(16).padStart(64, "0"),
});

test("the server holds 65,536 reports over all Sessions, refuses the next and still answers a replay (O063 O064)", async () => {
  await using dir = await tempFolder();
  const store = openStore(`${dir.path}/server.sqlite`, { wallMs: 1 });
  const bounds = { perSession: 256, nowMs: 1 };
  const record = (session: string, count: number) =>
    store.write(
      (db) => recordReport(db, { ...report(session, count), tool: "Bash", exit_code: null }, bounds).recorded,
    );
  await store.write((db) =>
    db
      .query("UPDATE counters SET value = ? WHERE name = 'external_observations'")
      .run(serverLimits.observationsTotal - 1),
  );

  const last = await record("wc_sess_a", 1);
  const past = await record("wc_sess_b", 2);
  const replay = await record("wc_sess_a", 1);
  store.close();

  expect(serverLimits.observationsTotal).toBe(65_536);
  expect([last, past, replay]).toEqual(["inserted", "full", "replayed"]);
});

test("a caller that drops the connection after the commit sends the same report again and finds one row (O062)", async () => {
  await using server = await localServer(() => offering("ann", { fixture: "/x" }));
  const ann = await server.token("ann", ["runtime:read", "session:collaborate"]);
  const project = "agent:host:fixture";
  const made = await server.call(ann, "work_on_project", { project, instruction: "i" });
  const params = { ...report(made.output.session_id, 1), observed_tool: "Bash", exit_code: null };
  const list = async () =>
    (await server.call(bootstrapToken, "list_external_observations", { project, session_id: params.session_id })).output
      .observations;
  const body = JSON.stringify({ tool: "record_external_observation", params });
  const { host, port, hostname } = new URL(server.url);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => undefined } });
  socket.write(
    `POST /api/tools/call HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${ann}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const committed = await holdsWithin(async () => (await list()).length === 1, { withinMs: 30_000 });
  socket.terminate();

  const again = await server.call(ann, "record_external_observation", params);
  const listed = await list();

  expect(committed).toBe(true);
  expect(again.output.inserted).toBe(false);
  expect(listed).toEqual([again.output.observation]);
});
