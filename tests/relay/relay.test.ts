// The relay as a process, between this test as client and an adapter that is a real program.
import { expect, test } from "bun:test";
import { chmodSync, statSync, writeFileSync } from "node:fs";
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

/** What a program sees that the relay starts with these flags of its own. */
async function environmentThrough(folder: string, flags: readonly string[]) {
  const { command, args } = selfCommand(["relay", "--audit", join(folder, "a.jsonl"), ...flags, "--", "env"]);
  const proxies = { HTTPS_PROXY: "http://p:1", no_proxy: "x" };
  const env = { PATH: "/usr/bin:/bin", CODEX_HOME: "/c", ...proxies, GIT_DIR: "/g", NODE_OPTIONS: "--x", BUN_ANY: "1" };
  const child = Bun.spawn([command, ...args], { cwd: folder, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const lines = (await new Response(child.stdout).text()).trim().split("\n").sort();
  return { lines, status: await child.exited };
}

test("relay hands its environment on without the switches of runtimes and git", async () => {
  await using dir = await tempFolder();
  const { lines } = await environmentThrough(dir.path, []);
  expect(lines).toEqual(["CODEX_HOME=/c", "HTTPS_PROXY=http://p:1", "PATH=/usr/bin:/bin", "no_proxy=x"]);
});

test("relay hands on only what --env names, and refuses a switch by that name", async () => {
  await using dir = await tempFolder();
  const named = await environmentThrough(dir.path, ["--env", "PATH", "--env", "HTTPS_PROXY", "--env", "ABSENT"]);
  expect(named.lines).toEqual(["HTTPS_PROXY=http://p:1", "PATH=/usr/bin:/bin"]);
  for (const name of ["NODE_OPTIONS", "BUN_ANY", "GIT_DIR", "A=b", "A B"]) {
    expect((await environmentThrough(dir.path, ["--env", name])).status).toBe(64);
  }
});
