// The relay as a process, between this test as client and an adapter that is a real program.
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readProcess } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { selfCommand } from "../../src/base/self.ts";
import { generous, promptFrame, scriptAdapter, startRelay } from "../support/relay-run.ts";
import { tempFolder } from "../support/temp-folder.ts";

const alive = (pid: number): boolean => {
  const row = readProcess(pid);
  return row !== null && row.state !== "Z";
};

test("relay passes every byte both ways, also what is no JSON and no UTF-8 (R001, R013, R015, R025, B12)", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["cat"]);
  const bytes = Buffer.concat([
    Buffer.from('{"text":"读取 — 🎉"}\n\x00\x01\r\n{"id":"perm-1","method":"session/request_permission"}\n'),
    Buffer.from([0xff, 0x0a]),
    Buffer.from('{"text":"\\ud83d"}\na\u2028b\u0085c\nlast line without newline'),
  ]);
  for (let at = 0; at < bytes.length; at += 1) await relay.send(bytes.subarray(at, at + 1));
  await relay.closeInput();

  const { status, stdout, stderr } = await relay.ended;
  expect(stdout.equals(bytes)).toBe(true);
  expect([status, stderr]).toEqual([0, ""]);
  expect(relay.audit().complete).toBe(true);
});

test("relay passes a frame on while the client's input stays open (R015)", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["cat"]);
  for (const word of ["one\n", "two\n"]) {
    await relay.send(word);
    await relay.until((output) => output.includes(word));
  }
  await relay.closeInput();
  expect((await relay.ended).status).toBe(0);
});

test("relay notes the adapter's start first, with both pids, as its only child in its own session (R005, R026, R027)", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["cat"]);
  await relay.send("x\n");
  await relay.until((output) => output.includes("x\n"));

  const first = relay.audit().records[0];
  if (first?.event !== "adapter_process_started") throw new Error("wrong first event");
  const adapter = readProcess(first.pid);
  const own = readProcess(relay.child.pid);
  expect(first.relay_pid).toBe(relay.child.pid);
  expect([adapter?.ppid, adapter?.name]).toEqual([relay.child.pid, "cat"]);
  expect([adapter?.pgid, adapter?.sid]).toEqual([own?.pgid, own?.sid]);
  await relay.closeInput();
  await relay.ended;
  expect(relay.audit().records.filter(({ event }) => event === "adapter_process_started")).toHaveLength(1);
  expect(statSync(relay.auditPath).mode & 0o777).toBe(0o600);
});

test("relay has the prompt on disk before the adapter sees it (R007)", async () => {
  await using dir = await tempFolder();
  const audit = join(dir.path, "audit.jsonl");
  const adapter = scriptAdapter(
    dir.path,
    `import { readFileSync } from "node:fs";
    for await (const line of console) {
      if (line.includes("session/prompt")) {
        console.log(readFileSync(${JSON.stringify(audit)}, "utf8").includes("prompt_dispatch") ? "noted" : "missing");
        process.exit(0);
      }
    }`,
  );
  const relay = startRelay(dir.path, adapter);
  await relay.send(promptFrame());
  expect((await relay.ended).stdout.toString()).toBe("noted\n");
});

test("relay records identity, configuration and prompt, and nothing else of any frame (R006, R024)", async () => {
  await using dir = await tempFolder();
  const canary = "CANARY-4d1f_canary words";
  const adapter = scriptAdapter(
    dir.path,
    `const canary = ${JSON.stringify(canary)};
    const say = (value: unknown) => console.log(JSON.stringify(value));
    for await (const line of console) {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") say({ id, result: { agentInfo: { name: "codex-acp", version: "2.1.1", title: canary } } });
      if (method === "session/new") say({ id, result: { sessionId: canary, configOptions: [
        { id: "model", currentValue: "gpt-5", name: canary }, { id: "reasoning_effort", currentValue: canary },
        { id: canary, currentValue: canary }] } });
      if (method === "session/prompt") { console.error(canary + " 401 " + canary); say({ id, result: { text: canary } }); process.exit(0); }
    }`,
  );
  const relay = startRelay(dir.path, adapter);
  await relay.send(`${JSON.stringify({ id: 1, method: "initialize", params: { canary } })}\n`);
  await relay.until((output) => output.includes("agentInfo"));
  await relay.send(`${JSON.stringify({ id: 2, method: "session/new", params: { token: canary } })}\n`);
  await relay.until((output) => output.includes("configOptions"));
  await relay.send(promptFrame(3, canary));
  const { stderr } = await relay.ended;

  const { records } = relay.audit();
  expect(records.filter(({ event }) => event !== "diagnostic").map(({ event }) => event)).toEqual([
    "adapter_process_started",
    "adapter_identity",
    "config_observed",
    "prompt_dispatch",
    "adapter_process_exited",
  ]);
  expect(records.find(({ event }) => event === "prompt_dispatch")).toMatchObject({
    effective_config: { model: "gpt-5" },
  });
  const forms = [canary, canary.slice(0, 11), encodeURIComponent(canary), Buffer.from(canary).toString("hex")];
  for (const form of [...forms, Buffer.from(canary).toString("base64").slice(0, 20), "s-1"]) {
    expect(relay.auditText()).not.toContain(form);
  }
  expect(stderr).toBe("");
});

test("relay takes a frame of 2 MiB and ends the adapter at one byte more (R014)", async () => {
  await using dir = await tempFolder();
  await using other = await tempFolder();
  const limit = 2 * 1024 * 1024;
  const whole = Buffer.concat([Buffer.alloc(limit - 1, 0x61), Buffer.from("\n")]);
  const fits = startRelay(dir.path, ["cat"]);
  await fits.send(whole);
  await fits.closeInput();
  expect((await fits.ended).stdout.equals(whole)).toBe(true);

  const refused = startRelay(other.path, ["cat"]);
  await refused.send("before\n");
  await refused.until((output) => output.includes("before\n"));
  await refused.send(Buffer.concat([Buffer.from("a"), whole]));
  const { status, stdout, stderr } = await refused.ended;
  expect(stdout.toString()).toBe("before\n");
  expect(stderr).toContain("[relay_frame_limit]");
  expect(status).toBe(125);
  const { records } = refused.audit();
  expect(records.at(-2)).toMatchObject({ event: "frame_limit", direction: "request" });
  expect(records.at(-1)).toMatchObject({ event: "adapter_process_exited", exit_code: -15 });
});

test("relay ends an adapter whose own frame is too long (R014)", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["head", "-c", "2097153", "/dev/zero"]);
  const { status, stdout, stderr } = await relay.ended;
  expect(stdout.length).toBe(0);
  expect(stderr).toContain("[relay_frame_limit]");
  expect(status).toBe(125);
});

test("relay closes the adapter's input at the client's end and delivers what comes after (R017, B17)", async () => {
  await using dir = await tempFolder();
  const adapter = scriptAdapter(
    dir.path,
    `for await (const line of console) if (line !== "") console.log("got " + line);
    await Bun.sleep(300);
    console.log("answer after the end of input");`,
  );
  const relay = startRelay(dir.path, adapter);
  await relay.send("hello\n");
  await relay.closeInput();
  expect((await relay.ended).stdout.toString()).toBe("got hello\nanswer after the end of input\n");
});

test("relay goes on with output when the adapter has closed its input (R016)", async () => {
  await using dir = await tempFolder();
  const adapter = scriptAdapter(
    dir.path,
    `import { closeSync, existsSync } from "node:fs";
    closeSync(0);
    console.log("closed");
    while (!existsSync("go")) await Bun.sleep(20);
    console.log("still here");
    process.exit(3);`,
  );
  const relay = startRelay(dir.path, adapter);
  await relay.until((output) => output.includes("closed"));
  // The client learns of it as it would from the adapter itself: its own writes fail, sooner or later.
  for (let turn = 0; turn < 4; turn += 1) await relay.send("into a closed pipe\n").catch(() => undefined);
  writeFileSync(join(dir.path, "go"), "");
  const { stdout, status } = await relay.ended;
  expect(stdout.toString()).toBe("closed\nstill here\n");
  expect(status).toBe(3);
});

test("relay ends when the adapter ends first, though the client's input stays open (R022, R023)", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["sh", "-c", "echo bye; exit 3"]);
  const { status, stdout } = await relay.ended;
  expect(stdout.toString()).toBe("bye\n");
  expect(status).toBe(3);
  expect(relay.audit().records.at(-1)).toMatchObject({ event: "adapter_process_exited", exit_code: 3 });
});

test("relay tells an adapter's signal as 128 + n, and minus n in the audit (R023)", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["sh", "-c", "kill -KILL $$"]);
  expect((await relay.ended).status).toBe(137);
  expect(relay.audit().records.at(-1)).toMatchObject({ exit_code: -9 });
});

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  test(`relay hands ${signal} on and delivers the last words of an adapter that traps it`, async () => {
    await using dir = await tempFolder();
    const adapter = scriptAdapter(
      dir.path,
      `process.on("${signal}", () => { console.log("last words"); process.exit(7); });
      console.log("ready");
      setInterval(() => {}, 1000);`,
    );
    const relay = startRelay(dir.path, adapter);
    await relay.until((output) => output.includes("ready"));
    relay.child.kill(signal);
    const { status, stdout } = await relay.ended;
    expect(stdout.toString()).toBe("ready\nlast words\n");
    expect(status).toBe(7);
  });
}

test("relay ends with 143 when SIGTERM ends the adapter", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["sh", "-c", "echo ready; exec sleep 60"]);
  await relay.until((output) => output.includes("ready"));
  relay.child.kill("SIGTERM");
  expect((await relay.ended).status).toBe(143);
});

test.if(process.platform === "linux")("the adapter dies with a relay that is killed with SIGKILL", async () => {
  await using dir = await tempFolder();
  // It ignores both SIGTERM and the end of its input.
  const relay = startRelay(dir.path, ["sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 1; done"]);
  await relay.until((output) => output.includes("ready"));
  const first = relay.audit().records[0];
  if (first?.event !== "adapter_process_started") throw new Error("wrong first event");
  relay.child.kill("SIGKILL");
  expect(await holdsWithin(() => !alive(first.pid), generous)).toBe(true);
});

test("relay drains a flood on stderr, counts categories and passes nothing of it on (R018, R020)", async () => {
  await using dir = await tempFolder();
  const adapter = scriptAdapter(
    dir.path,
    `import { writeSync } from "node:fs";
    for (let i = 0; i < 200; i++) writeSync(2, "x".repeat(9000) + "\\nerror: INVALID_GRANT token-secret\\n");
    console.log("done");`,
  );
  const relay = startRelay(dir.path, adapter);
  const { stdout, stderr } = await relay.ended;
  expect([stdout.toString(), stderr]).toEqual(["done\n", ""]);
  const { records } = relay.audit();
  expect(records.filter(({ event }) => event === "diagnostic")).toMatchObject([
    { category: "invalid_grant", count: 1 },
  ]);
  expect(records.at(-1)).toMatchObject({ stderr_drained: true, diagnostics: { invalid_grant: 200 } });
  expect(relay.auditText()).not.toContain("secret");
});

test("relay does not wait for a grandchild that keeps the pipes, and says that stderr was not drained (R021, B56)", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["sh", "-c", "sleep 120 & echo $!; exit 0"]);
  const { status, stdout } = await relay.ended;
  const grandchild = Number(stdout.toString());
  expect(alive(grandchild)).toBe(true);
  process.kill(grandchild, "SIGKILL");
  expect(status).toBe(0);
  expect(relay.audit().records.at(-1)).toMatchObject({ event: "adapter_process_exited", stderr_drained: false });
});

test("relay stops taking input for an adapter that never reads", async () => {
  await using dir = await tempFolder();
  const relay = startRelay(dir.path, ["sh", "-c", "echo ready; exec sleep 600"]);
  await relay.until((output) => output.includes("ready"));
  const line = Buffer.from(`${"a".repeat(1_023)}\n`.repeat(64));
  let sent = 0;
  const flood = (async () => {
    for (; sent < 512 * 1024 * 1024; sent += line.length) await relay.send(line);
  })().catch(() => undefined);
  let before = -1;
  const stalled = await holdsWithin(
    () => {
      const still = sent === before && sent > 0;
      before = sent;
      return still;
    },
    { withinMs: 30_000, everyMs: 1_000 },
  );
  expect(stalled).toBe(true);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
  relay.child.kill("SIGTERM");
  expect((await relay.ended).status).toBe(143);
  await flood;
});

test("relay holds the adapter back when the client does not read, and loses nothing (B60)", async () => {
  await using dir = await tempFolder();
  const progress = join(dir.path, "progress");
  const total = 32 * 1024 * 1024;
  const adapter = scriptAdapter(
    dir.path,
    `import { writeFileSync, writeSync } from "node:fs";
    const block = Buffer.from(("b".repeat(1023) + "\\n").repeat(16));
    for (let sent = 0; sent < ${total}; ) {
      for (let at = 0; at < block.length; ) at += writeSync(1, block, at);
      sent += block.length;
      writeFileSync(${JSON.stringify(progress)}, String(sent));
    }`,
  );
  const { command, args } = selfCommand(["relay", "--audit", join(dir.path, "audit.jsonl"), "--", ...adapter]);
  // A reader that waits for our word: its pipe stays full meanwhile.
  const child = Bun.spawn(
    ["sh", "-c", '"$@" | { while [ ! -e go ]; do sleep 0.05; done; wc -c; }', "sh", command, ...args],
    { cwd: dir.path, env: { PATH: "/usr/local/bin:/usr/bin:/bin" }, stdin: "pipe", stdout: "pipe", stderr: "pipe" },
  );
  const done = (): number => (existsSync(progress) ? Number(readFileSync(progress, "utf8")) : 0);
  let before = -1;
  const stalled = await holdsWithin(
    () => {
      const still = done() === before && before >= 0;
      before = done();
      return still && existsSync(join(dir.path, "audit.jsonl")) && before > 0;
    },
    { withinMs: 40_000, everyMs: 1_000 },
  );
  const held = done();
  writeFileSync(join(dir.path, "go"), "");
  const counted = Number(await new Response(child.stdout).text());
  await child.exited;
  expect(stalled).toBe(true);
  expect(held).toBeLessThan(total);
  expect(counted).toBe(total);
});

test("relay ends when the client's reading end is gone while the adapter floods", async () => {
  await using dir = await tempFolder();
  const { command, args } = selfCommand(["relay", "--audit", join(dir.path, "audit.jsonl"), "--", "yes"]);
  const child = Bun.spawn(["sh", "-c", '"$@" | head -n 1', "sh", command, ...args], {
    cwd: dir.path,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  expect(await new Response(child.stdout).text()).toBe("y\n");
  expect(await child.exited).toBe(0);
});

test("relay says its own faults with 125 and a code: no program, no private audit", async () => {
  await using dir = await tempFolder();
  const missing = startRelay(dir.path, ["no-such-program-here"]);
  const gone = await missing.ended;
  expect(gone.stderr).toContain("[relay_program_not_started]");
  expect(gone.status).toBe(125);

  writeFileSync(missing.auditPath, "x\n");
  chmodSync(missing.auditPath, 0o644);
  const refused = await startRelay(dir.path, ["cat"]).ended;
  expect(refused.stderr).toContain("[relay_audit_unwritable]");
  expect(refused.status).toBe(125);
});

test("relay takes the audit file and the program as plain words, flags included (R001)", async () => {
  await using dir = await tempFolder();
  const audit = join(dir.path, "plain.jsonl");
  const { command, args } = selfCommand(["relay", audit, "sh", "-c", 'echo "$@"', "--", "--help", "-x", "a b", "--"]);
  const child = Bun.spawn([command, ...args], { cwd: dir.path, env: { PATH: "/usr/bin:/bin" }, stdin: "ignore" });
  expect(await new Response(child.stdout).text()).toBe("--help -x a b --\n");
  expect(await child.exited).toBe(0);
});

test("relay keeps runtime switches from the adapter and hands the rest on", async () => {
  await using dir = await tempFolder();
  const { command, args } = selfCommand(["relay", join(dir.path, "a.jsonl"), "env"]);
  const env = { PATH: "/usr/bin:/bin", CODEX_HOME: "/c", GIT_DIR: "/g", NODE_OPTIONS: "--x", BUN_ANY: "1" };
  const child = Bun.spawn([command, ...args], { cwd: dir.path, env, stdin: "ignore" });
  const lines = (await new Response(child.stdout).text()).trim().split("\n").sort();
  expect(lines).toEqual(["CODEX_HOME=/c", "PATH=/usr/bin:/bin"]);
});
