// What both carriers promise: every byte, the limit, the ends of each side, and no more in memory than a frame.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readProcess } from "../../src/base/census.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { readAudit } from "../../src/contract/audit.ts";
import { carriers, promptFrame, relayWords, scriptAdapter, startRelay } from "../support/relay-run.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** One frame, one read and the buffers of two pipes or sockets, with room to spare. */
const stalledBytes = 6 * 1024 * 1024;

const alive = (pid: number): boolean => {
  const row = readProcess(pid);
  return row !== null && row.state !== "Z";
};

function residentOf(pid: number): number {
  const kib = /^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) * 1024;
}

/** Waits until a count that has begun has not moved for a second. */
async function standsStill(count: () => number): Promise<void> {
  let before = -1;
  const still = () => {
    const [was, now] = [before, count()];
    before = now;
    return now > 0 && now === was;
  };
  if (!(await holdsWithin(still, { withinMs: 40_000, everyMs: 1_000 }))) throw new Error("it never stood still");
}

describe.each([...carriers])("over %s:", (carrier) => {
  test.concurrent("relay passes every byte both ways, also what is no JSON and no UTF-8 (R001, R013, R015, R025, B12)", async () => {
    await using dir = await tempFolder();
    const relay = startRelay(dir.path, ["cat"], carrier);
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

  test.concurrent("relay has the prompt on disk before the adapter sees it (R007)", async () => {
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
    const relay = startRelay(dir.path, adapter, carrier);
    await relay.send(promptFrame());
    expect((await relay.ended).stdout.toString()).toBe("noted\n");
  });

  test.concurrent("relay takes a frame of 2 MiB and ends the adapter at one byte more (R014)", async () => {
    await using dir = await tempFolder();
    await using other = await tempFolder();
    const limit = 2 * 1024 * 1024;
    const whole = Buffer.concat([Buffer.alloc(limit - 1, 0x61), Buffer.from("\n")]);
    const fits = startRelay(dir.path, ["cat"], carrier);
    await fits.send(whole);
    await fits.closeInput();
    expect((await fits.ended).stdout.equals(whole)).toBe(true);

    const refused = startRelay(other.path, ["cat"], carrier);
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

  test.concurrent("relay ends an adapter whose own frame is too long (R014)", async () => {
    await using dir = await tempFolder();
    const relay = startRelay(dir.path, ["head", "-c", "2097153", "/dev/zero"], carrier);
    const { status, stdout, stderr } = await relay.ended;
    expect(stdout.length).toBe(0);
    expect(stderr).toContain("[relay_frame_limit]");
    expect(status).toBe(125);
  });

  test.concurrent("relay closes the adapter's input at the client's end and delivers what comes after (R017, B17)", async () => {
    await using dir = await tempFolder();
    const adapter = scriptAdapter(
      dir.path,
      `for await (const line of console) if (line !== "") console.log("got " + line);
      await Bun.sleep(300);
      console.log("answer after the end of input");`,
    );
    const relay = startRelay(dir.path, adapter, carrier);
    await relay.send("hello\n");
    await relay.closeInput();
    expect((await relay.ended).stdout.toString()).toBe("got hello\nanswer after the end of input\n");
  });

  test.concurrent("relay goes on with output when the adapter has closed its input (R016)", async () => {
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
    const relay = startRelay(dir.path, adapter, carrier);
    await relay.until((output) => output.includes("closed"));
    // The client learns of it as it would from the adapter itself: its own writes fail, sooner or later.
    for (let turn = 0; turn < 4; turn += 1) await relay.send("into a closed pipe\n").catch(() => undefined);
    writeFileSync(join(dir.path, "go"), "");
    const { stdout, status } = await relay.ended;
    expect(stdout.toString()).toBe("closed\nstill here\n");
    expect(status).toBe(3);
  });

  test.concurrent("relay ends when the adapter ends first, though the client's input stays open (R022, R023)", async () => {
    await using dir = await tempFolder();
    const relay = startRelay(dir.path, ["sh", "-c", "echo bye; exit 3"]);
    const { status, stdout } = await relay.ended;
    expect(stdout.toString()).toBe("bye\n");
    expect(status).toBe(3);
    expect(relay.audit().records.at(-1)).toMatchObject({ event: "adapter_process_exited", exit_code: 3 });
  });

  test.concurrent("relay does not wait for a grandchild that keeps the pipes, and says that stderr was not drained (R021, B56)", async () => {
    await using dir = await tempFolder();
    const relay = startRelay(dir.path, ["sh", "-c", "sleep 120 & echo $!; exit 0"]);
    const { status, stdout } = await relay.ended;
    const grandchild = Number(stdout.toString());
    expect(alive(grandchild)).toBe(true);
    process.kill(grandchild, "SIGKILL");
    expect(status).toBe(0);
    expect(relay.audit().records.at(-1)).toMatchObject({ event: "adapter_process_exited", stderr_drained: false });
  });

  test.concurrent("relay takes no more than a frame and its pipes for an adapter that never reads", async () => {
    await using dir = await tempFolder();
    const relay = startRelay(dir.path, ["sh", "-c", "echo ready; exec sleep 600"], carrier);
    await relay.until((output) => output.includes("ready"));
    const line = Buffer.from(`${"a".repeat(1_023)}\n`.repeat(16));
    let sent = 0;
    const flood = (async () => {
      for (; sent < 512 * 1024 * 1024; sent += line.length) await relay.send(line);
    })().catch(() => undefined);
    await standsStill(() => sent);
    expect(sent).toBeLessThan(stalledBytes);
    relay.child.kill("SIGTERM");
    expect((await relay.ended).status).toBe(143);
    await flood;
  });

  test.concurrent("relay holds the adapter back when the client does not read, and loses nothing (B60)", async () => {
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
    // A reader that waits for our word: its pipe stays full meanwhile.
    const words = relayWords(join(dir.path, "audit.jsonl"), adapter, carrier);
    const child = Bun.spawn(["sh", "-c", '"$@" | { while [ ! -e go ]; do sleep 0.05; done; wc -c; }', "sh", ...words], {
      cwd: dir.path,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    await standsStill(() => (existsSync(progress) ? Number(readFileSync(progress, "utf8")) : 0));
    const held = Number(readFileSync(progress, "utf8"));
    const [first] = readAudit(readFileSync(join(dir.path, "audit.jsonl"))).records;
    if (first?.event !== "adapter_process_started") throw new Error("wrong first event");
    const residentBytes = residentOf(first.relay_pid);
    writeFileSync(join(dir.path, "go"), "");
    const counted = Number(await new Response(child.stdout).text());
    await child.exited;
    expect(held).toBeLessThan(stalledBytes);
    // What the runtime itself needs is the larger part by far; a relay that kept the flood would pass this soon.
    expect(residentBytes).toBeLessThan(256 * 1024 * 1024);
    expect(counted).toBe(total);
  });

  test.concurrent("relay ends when the client's reading end is gone while the adapter floods", async () => {
    await using dir = await tempFolder();
    const words = relayWords(join(dir.path, "audit.jsonl"), ["yes"], carrier);
    const child = Bun.spawn(["sh", "-c", '"$@" | head -n 1', "sh", ...words], {
      cwd: dir.path,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    expect(await new Response(child.stdout).text()).toBe("y\n");
    expect(await child.exited).toBe(0);
  });
});
