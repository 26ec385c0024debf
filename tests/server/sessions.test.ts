// Sessions and what is said in them: opened or continued by name only, one owner, closed for good.
import { expect, test } from "bun:test";
import { type LocalServer, localServer, offering } from "./local-server.ts";

const project = "agent:host:fixture";
const scopes = ["runtime:read", "project:read", "session:collaborate"];
const world = () => localServer(() => offering("ann", { fixture: "/x/fixture", other: "/x/other" }));

const kindOf = (answer: { success?: boolean; output?: { error_kind?: string }; error?: string }) =>
  answer.success === true ? "done" : (answer.output?.error_kind ?? answer.error);

async function session(server: LocalServer, token: string): Promise<string> {
  return (await server.call(token, "work_on_project", { project, instruction: "work" })).output.session_id;
}

test("work_on_project opens by id or by path, continues only the named Session, and sees its caller's projects only", async () => {
  await using server = await world();
  const [ann, bob] = [await server.token("ann", scopes), await server.token("bob", scopes)];
  const work = (token: string, params: object) =>
    server.call(token, "work_on_project", { instruction: "work", ...params });

  const made = await work(ann, { project });
  const byPath = await work(ann, { client_id: "host", path: "/x/fixture" });
  const session_id = made.output.session_id;
  const continued = await work(ann, { project, session_id, instruction: "more" });
  const refusals = [
    await work(ann, { project: "agent:host:none" }),
    await work(ann, { project: "agent:host:other", session_id }),
    await work(ann, { project, session_id: "wc_sess_none" }),
    await work(bob, { project }),
    await work(ann, {}),
  ];
  const limit = await work(ann, { project, instruction: "x".repeat(4000) });
  const past = await work(ann, { project, instruction: "x".repeat(4001) });

  expect(made.output).toMatchObject({ project, continuation: "created", lifecycle: "active", title: "work" });
  expect(session_id).toMatch(/^wc_sess_[A-Za-z0-9_-]{1,128}$/);
  expect(made.output.session_ref).toMatch(/^~s[0-9]+$/);
  expect(byPath.output).toMatchObject({ project, continuation: "created" });
  expect(byPath.output.session_id).not.toBe(session_id);
  expect(continued.output).toMatchObject({ session_id, continuation: "resumed_explicitly", title: "work" });
  expect(refusals.map(kindOf)).toEqual([
    "project_not_found",
    "session_project_mismatch",
    "unknown_session",
    "project_not_found",
    "project_not_found",
  ]);
  expect([limit.success, past.status]).toEqual([true, 400]);
});

test("post_session_message repeats under its delivery key, conflicts under another payload, and bounds what it takes", async () => {
  await using server = await world();
  const ann = await server.token("ann", scopes);
  const session_id = await session(server, ann);
  const say = (more: object) =>
    server.call(ann, "post_session_message", { session_id, kind: "note", message: "hello", ...more });
  const shape = async (more: object) => (await say(more)).status ?? 200;

  const first = await say({ delivery_key: "k" });
  const again = await say({ delivery_key: "k" });
  const other = await say({ delivery_key: "k", message: "else" });
  const reply = await say({ kind: "answer", reply_to: "wc_msg_none" });
  const ack = await say({ requires_ack: true });
  const guidance = await say({ kind: "guidance", priority: "high", requires_ack: true });

  expect(first.output.message_id).toMatch(/^wc_msg_/);
  expect(again.output).toEqual({ ...first.output, replayed: true });
  expect([other, reply, ack, guidance].map(kindOf)).toEqual([
    "session_message_conflict",
    "session_message_not_found",
    "invalid_session_message",
    "done",
  ]);
  expect(await shape({ message: "m".repeat(8000) })).toBe(200);
  expect(await shape({ message: "m".repeat(8001) })).toBe(400);
  expect(await shape({ tags: Array(16).fill("t".repeat(64)) })).toBe(200);
  expect(await shape({ tags: Array(17).fill("t") })).toBe(400);
  expect(await shape({ tags: ["t".repeat(65)] })).toBe(400);
  expect(await shape({ kind: "gossip" })).toBe(400);
});

test("an answer settles its question; close_session is for good, repeats quietly, and leaves reads", async () => {
  await using server = await world();
  const [ann, bob] = [await server.token("ann", scopes), await server.token("bob", scopes)];
  const session_id = await session(server, ann);
  const say = (token: string, more: object) => server.call(token, "post_session_message", { session_id, ...more });

  const question = (await say(ann, { kind: "question", message: "which?" })).output.message_id;
  const foreign = await say(bob, { kind: "note", message: "me too" });
  await say(ann, { kind: "answer", message: "this", reply_to: question });
  const foreignClose = await server.call(bob, "close_session", { session_id });
  const closed = await server.call(ann, "close_session", { session_id });
  const again = await server.call(ann, "close_session", { session_id });
  const late = [
    await say(ann, { kind: "note", message: "late" }),
    await server.call(ann, "work_on_project", { project, session_id, instruction: "more" }),
    await server.call(ann, "resolve_session_message", { session_id, message_id: question }),
  ];
  const read = await server.call(ann, "list_session_messages", { session_id });
  const listed = await server.call(ann, "list_sessions", { project, lifecycle: "closed" });

  expect([foreign, foreignClose].map(kindOf)).toEqual(["unknown_session", "unknown_session"]);
  expect(closed.output).toMatchObject({ success: true, lifecycle: "closed", already_closed: false });
  expect(again.output).toEqual({ ...closed.output, already_closed: true });
  expect(late.map(kindOf)).toEqual(["session_closed", "session_closed", "session_closed"]);
  expect(read.output.messages.map((row: { resolved: boolean }) => row.resolved)).toEqual([true, false]);
  expect(listed.output.sessions.map((row: { session_id: string }) => row.session_id)).toEqual([session_id]);
});

test("list_sessions pages by twenty, newest change first, and shows nobody else's (H103)", async () => {
  await using server = await world();
  const [ann, bob] = [await server.token("ann", scopes), await server.token("bob", scopes)];
  const ids: string[] = [];
  for (let count = 0; count < 21; count += 1) ids.push(await session(server, ann));
  const list = (token: string, more: object = {}) => server.call(token, "list_sessions", { project, ...more });

  const first = (await list(ann)).output;
  const second = (await list(ann, { offset: first.next_offset })).output;
  const foreign = await list(bob);

  expect(first).toMatchObject({ total: 21, next_offset: 20, truncated: true });
  expect(first.sessions).toHaveLength(20);
  expect(second).toMatchObject({ total: 21, next_offset: null, truncated: false });
  const seen = [...first.sessions, ...second.sessions].map((row: { session_id: string }) => row.session_id);
  expect(seen.sort()).toEqual([...ids].sort());
  expect(kindOf(foreign)).toBe("project_not_found");
});
