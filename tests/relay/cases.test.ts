// Cases from the field, on the relay's side: noise before JSON, unanswered permissions, early ends of input, slow
// readers. The compiled program is used where a build could differ from the source.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, readProcess } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { startGroup } from "../../src/base/process-group.ts";
import { readAudit } from "../../src/contract/audit.ts";
import { relayLimits } from "../../src/relay/limits.ts";
import { proctorBinary } from "../support/binary.ts";
import { earlierRun } from "../support/earlier-run.ts";
import { generous, promptFrame, relayWords, scriptAdapter, startRelay } from "../support/relay-run.ts";
import { tempFolder } from "../support/temp-folder.ts";

const say = (value: unknown): string => `${JSON.stringify(value)}\n`;

test("relay passes noise before and between frames on, finds the identity behind it, and notes none of it (B10)", async () => {
  await using dir = await tempFolder();
  const noise = "Welcome back\r\n\n\x1b[1;32mmenu\x1b[0m\n";
  const answers = [
    say({ jsonrpc: "2.0", id: 0, result: { agentInfo: { name: "codex-acp", version: "2.1.1" } } }),
    "[tool] working...\n",
    say({ jsonrpc: "2.0", id: 1, result: { configOptions: [{ id: "model", currentValue: "gpt-5" }] } }),
    '{"jsonrpc":"2.0",\n',
  ];
  const all = noise + answers.join("");
  writeFileSync(join(dir.path, "words"), all);
  const relay = startRelay(dir.path, ["cat", "words"]);

  const { status, stdout } = await relay.ended;
  expect([status, stdout.toString()]).toEqual([0, all]);
  const { records, intact } = relay.audit();
  expect(intact).toBe(true);
  expect(records.map(({ event }) => event)).toEqual([
    "adapter_process_started",
    "adapter_identity",
    "config_observed",
    "adapter_process_exited",
  ]);
  for (const word of ["Welcome", "menu", "working"]) expect(relay.auditText()).not.toContain(word);
});

test("relay answers no permission request: the adapter hears what the client said and nothing else (B14)", async () => {
  await using dir = await tempFolder();
  const adapter = scriptAdapter(
    dir.path,
    `import { appendFileSync } from "node:fs";
    for await (const line of console) {
      if (line === "") continue;
      appendFileSync("heard", line + "\\n");
      const { method } = JSON.parse(line);
      if (method === "session/prompt") console.log('{"jsonrpc":"2.0","id":"perm-1","method":"session/request_permission","params":{"sessionId":"never-seen"}}');
      if (method === "session/cancel") console.log('{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}');
    }`,
  );
  const relay = startRelay(dir.path, adapter);
  await relay.send(promptFrame());
  await relay.until((output) => output.includes("perm-1"));
  // Frames keep their order, so an answer of the relay's own would have to stand before this one.
  const cancel = say({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "s-1" } });
  await relay.send(cancel);
  await relay.until((output) => output.includes("cancelled"));
  await relay.closeInput();

  const { status, stdout } = await relay.ended;
  expect(status).toBe(0);
  expect(stdout.toString().trimEnd().split("\n")).toHaveLength(2);
  expect(readFileSync(join(dir.path, "heard"), "utf8")).toBe(promptFrame() + cancel);
  expect(relay.auditText()).not.toContain("permission");
});

const opening = say({ id: 0, method: "initialize" }) + say({ id: 1, method: "session/new" }) + promptFrame(2);

test("relay invents no answer for an adapter that takes the end of input for its own end (B17)", async () => {
  await using dir = await tempFolder();
  const adapter = scriptAdapter(dir.path, "for await (const _ of console) {}\nprocess.exit(0);");
  const relay = startRelay(dir.path, adapter);
  await relay.send(opening);
  await relay.closeInput();

  const { status, stdout } = await relay.ended;
  expect([status, stdout.length]).toEqual([0, 0]);
  expect(relay.audit().records.map(({ event }) => event)).toEqual([
    "adapter_process_started",
    "prompt_dispatch",
    "adapter_process_exited",
  ]);
});

test("relay delivers an answer that comes well after the end of input (B17)", async () => {
  await using dir = await tempFolder();
  const adapter = scriptAdapter(
    dir.path,
    `for await (const _ of console) {}
    await Bun.sleep(1_000);
    console.log('{"id":2,"result":{"stopReason":"end_turn"}}');`,
  );
  const relay = startRelay(dir.path, adapter);
  await relay.send(opening);
  await relay.closeInput();
  const { status, stdout } = await relay.ended;
  expect([status, stdout.toString()]).toEqual([0, '{"id":2,"result":{"stopReason":"end_turn"}}\n']);
});

test("relay delivers a turn's normal end after the client cancelled it and closed its input (B17)", async () => {
  await using dir = await tempFolder();
  const adapter = scriptAdapter(
    dir.path,
    `let cancelled = false;
    for await (const line of console) if (line.includes("session/cancel")) cancelled = true;
    console.log('{"method":"session/update"}');
    await Bun.sleep(700);
    console.log(JSON.stringify({ id: 2, result: { stopReason: "end_turn", cancelled } }));`,
  );
  const relay = startRelay(dir.path, adapter);
  await relay.send(opening + say({ method: "session/cancel" }));
  await relay.closeInput();
  const { stdout } = await relay.ended;
  expect(stdout.toString()).toBe(
    '{"method":"session/update"}\n{"id":2,"result":{"stopReason":"end_turn","cancelled":true}}\n',
  );
});

test("the compiled relay brings a frame of 1.9 MiB whole to a reader that takes a little at a time (B60)", async () => {
  await using dir = await tempFolder();
  const frame = Buffer.concat([Buffer.alloc(1_992_294, 0x7a), Buffer.from("\n")]);
  writeFileSync(join(dir.path, "frame"), frame);
  const reader = scriptAdapter(
    dir.path,
    `import { readSync } from "node:fs";
    const piece = Buffer.alloc(16_384);
    let total = 0;
    for (let count = 1; count > 0; total += count) { count = readSync(0, piece); Bun.sleepSync(2); }
    console.log(total);`,
  );
  const relay = [proctorBinary, "relay", "--audit", join(dir.path, "audit.jsonl"), "--", "cat", "frame"];
  const child = Bun.spawn(["sh", "-c", '"$@" | "$BUN" adapter.ts', "sh", ...relay], {
    cwd: dir.path,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", BUN: reader[0] ?? "" },
    stdin: "ignore",
  });
  expect((await new Response(child.stdout).text()).trim()).toBe(String(frame.length));
  const { records } = readAudit(readFileSync(join(dir.path, "audit.jsonl")));
  expect(records.at(-1)).toMatchObject({ event: "adapter_process_exited", exit_code: 0 });
});

test("relay keeps both directions' notes whole while both are busy (R004)", async () => {
  await using dir = await tempFolder();
  const turns = 150;
  const adapter = scriptAdapter(
    dir.path,
    `const options = JSON.stringify({ id: 1, result: { configOptions: [{ id: "model", currentValue: "m" }] } });
    for (let turn = 0; turn < ${turns}; turn += 1) console.log(options);
    for await (const _ of console) {}`,
  );
  const relay = startRelay(dir.path, adapter);
  for (let turn = 0; turn < turns; turn += 1) await relay.send(promptFrame(turn));
  await relay.closeInput();
  expect((await relay.ended).status).toBe(0);

  const { records, intact, complete } = relay.audit();
  const count = (name: string): number => records.filter(({ event }) => event === name).length;
  expect([count("prompt_dispatch"), count("config_observed")]).toEqual([turns, turns]);
  expect([intact, complete]).toEqual([true, true]);
});

test("relay goes on passing bytes once its audit is full, and notes no more than that and the exit", async () => {
  await using dir = await tempFolder();
  const room = relayLimits.auditBytes - relayLimits.auditReserveBytes;
  writeFileSync(join(dir.path, "audit.jsonl"), earlierRun(room - 2_000), { mode: 0o600 });
  const relay = startRelay(dir.path, ["cat"]);
  const prompts = Array.from({ length: 30 }, (_, id) => promptFrame(id)).join("");
  await relay.send(prompts);
  await relay.closeInput();

  const { status, stdout, stderr } = await relay.ended;
  expect([status, stdout.toString(), stderr]).toEqual([0, prompts, ""]);
  const { records, intact, complete } = relay.audit();
  expect(records.slice(-2).map(({ event }) => event)).toEqual(["audit_limit", "adapter_process_exited"]);
  expect([intact, complete]).toEqual([true, false]);
  expect(statSync(relay.auditPath).size).toBeLessThanOrEqual(relayLimits.auditBytes);

  const again = await startRelay(dir.path, ["cat"]).ended;
  expect([again.status, again.stderr.includes("[relay_audit_full]")]).toEqual([125, true]);
});

test("relay takes closed and odd standard streams as they are, and appends where its output is a file", async () => {
  await using dir = await tempFolder();
  writeFileSync(join(dir.path, "out"), "first\n");
  const [relay, ...words] = [...relayWords("audit.jsonl", ["cat"])];
  const run = (redirections: string) =>
    Bun.spawnSync(["sh", "-c", `"$@" ${redirections}`, "sh", relay ?? "", ...words], {
      cwd: dir.path,
      env: { PATH: "/usr/bin:/bin" },
      stdin: Buffer.from("second\n"),
    }).exitCode;

  expect(run(">>out")).toBe(0);
  expect(run("<out >copy")).toBe(0);
  for (const odd of ["<&-", "</dev/null >/dev/null", "<&- >&- 2>&-"]) expect(run(odd)).toBe(0);

  for (const name of ["out", "copy"]) expect(readFileSync(join(dir.path, name), "utf8")).toBe("first\nsecond\n");
  expect(readAudit(readFileSync(join(dir.path, "audit.jsonl"))).complete).toBe(true);
});

/** Whether this host lets one process watch another's system calls. */
const canTrace = Bun.which("strace") !== null && Bun.spawnSync(["strace", "-o", "/dev/null", "true"]).exitCode === 0;

/** The calls of a trace in their order, those joined again that another thread's line had cut in two. */
function wholeCalls(trace: string): { readonly thread: string; readonly call: string }[] {
  const calls: { thread: string; call: string }[] = [];
  const cut = new Map<string, { thread: string; call: string }>();
  for (const line of trace.split("\n")) {
    const [, thread = "", text = ""] = /^([0-9]+) +(.*)$/.exec(line) ?? [];
    const before = cut.get(thread);
    if (before !== undefined && text.startsWith("<... ")) {
      before.call += text.slice(text.indexOf(">") + 1);
      cut.delete(thread);
      continue;
    }
    const call = { thread, call: text.replace(/ <unfinished \.\.\.>$/, "") };
    if (call.call !== text) cut.set(thread, call);
    calls.push(call);
  }
  return calls;
}

test.skipIf(!canTrace)(
  "relay syncs each record before its next call, and a prompt's before the prompt goes (R004)",
  async () => {
    await using dir = await tempFolder();
    const trace = join(dir.path, "trace");
    const words = relayWords(join(dir.path, "audit.jsonl"), ["cat"]);
    const strace = ["strace", "-f", "-e", "trace=openat,write,fsync", "-s", "40", "-o", trace];
    const child = Bun.spawn([...strace, ...words], {
      cwd: dir.path,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
      stdin: Buffer.from(promptFrame()),
    });
    expect(await child.exited).toBe(0);

    const calls = wholeCalls(readFileSync(trace, "utf8"));
    const opened = calls.find(({ call }) => /^openat\(.*audit\.jsonl".*O_APPEND/.test(call));
    const fd = / = ([0-9]+)$/.exec(opened?.call ?? "")?.[1];
    const own = calls.filter(({ thread }) => thread === opened?.thread).map(({ call }) => call);
    const records = own.flatMap((call, at) => (call.startsWith(`write(${fd}, "{\\"event\\"`) ? [at] : []));
    expect(records).toHaveLength(3);
    for (const at of records) expect(own[at + 1]).toMatch(new RegExp(`^fsync\\(${fd}\\) += 0`));
    const prompt = own.findIndex((call) => call.includes("write(") && call.includes('{\\"jsonrpc\\"'));
    expect(prompt).toBeGreaterThan(own.findIndex((call) => call.includes("prompt_dispatch")));
  },
);

test("ending the group of whoever started the relay ends relay and adapter with it (R026)", async () => {
  await using dir = await tempFolder();
  const audit = join(dir.path, "audit.jsonl");
  const [command = "", ...args] = relayWords(audit, ["sleep", "600"]);
  // A runner that is no more than the leader of its own group, with the relay as its child.
  const runner = startGroup({
    command: "/bin/sh",
    args: ["-c", '"$@" & wait', "sh", command, ...args],
    cwd: dir.path,
    env: { PATH: "/usr/bin:/bin" },
  });
  const first = () => (existsSync(audit) ? readAudit(readFileSync(audit)).records[0] : undefined);
  expect(await holdsWithin(() => first()?.event === "adapter_process_started", generous)).toBe(true);
  const started = first();
  if (started?.event !== "adapter_process_started") throw new Error("wrong first event");
  const both = [readProcess(started.relay_pid), readProcess(started.pid)];
  expect(both.map((row) => [row?.pgid, row?.sid])).toEqual([
    [runner.pid, runner.pid],
    [runner.pid, runner.pid],
  ]);

  expect(await runner.stop()).toBe("gone");
  for (const row of both) expect(row !== null && isAlive(row)).toBe(false);
});
