// The ACP stand-in as a process: it really edits the project, and each bad name bends one thing.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { startGroup } from "../../src/base/process-group.ts";
import { selfCommand } from "../../src/base/self.ts";
import { tempFolder } from "../support/temp-folder.ts";

// biome-ignore lint/suspicious/noExplicitAny: frames are foreign data that each test picks from
type Frame = any;

/** Plays one whole errand and returns every frame of the agent. */
async function play(name: string, folder: string): Promise<Frame[]> {
  writeFileSync(`${folder}/clamp.ts`, "export function clamp(): number {\n  throw new Error();\n}\n");
  writeFileSync(
    `${folder}/clamp.test.ts`,
    'import { test } from "bun:test";\nimport "./clamp.ts";\ntest("loads", () => {});\n',
  );
  writeFileSync(`${folder}/README.md`, "# fixture\n");
  const { command, args } = selfCommand(["standin", "agent", "--misbehave", name, "--pace-ms", "0"]);
  const env = { PATH: "/usr/bin:/bin", HOME: folder, TMPDIR: folder };
  const group = startGroup({ command, args, cwd: folder, env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  const set = (configId: string, value: string) => ({ configId, value, sessionId: "standin-session" });
  const calls: [string, object][] = [
    ["initialize", { protocolVersion: 1, clientCapabilities: {} }],
    ["session/new", { cwd: folder, mcpServers: [] }],
    ["session/set_config_option", set("model", "gpt-5.6-luna")],
    ["session/set_config_option", set("reasoning_effort", "medium")],
    ["session/prompt", { sessionId: "standin-session", prompt: [{ type: "text", text: "clamp" }] }],
  ];
  for (const [at, [method, params]] of calls.entries()) {
    group.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: at + 1, method, params })}\n`);
  }
  await group.stdin?.flush();
  const frames: Frame[] = [];
  let text = "";
  for await (const chunk of group.stdout!.pipeThrough(
    new TextDecoderStream() as never,
  ) as unknown as AsyncIterable<string>) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop()!;
    frames.push(...lines.map((line) => JSON.parse(line)));
    if (frames.some((one) => one.id === 5)) break;
  }
  // The errand is over and the agent still there: killed from now on, too, it leaves no temporary folder.
  expect(readdirSync(folder).filter((name) => name.startsWith("proctor-agent-"))).toEqual([]);
  await group.stop({ termMs: 5_000, killMs: 2_000 });
  return frames;
}

const answer = (frames: Frame[], id: number) => frames.find((one) => one.id === id)?.result;
const kinds = (frames: Frame[]) => frames.map((one) => one.params?.update?.sessionUpdate).filter(Boolean);

test("standin agent that is killed before its test run leaves no temporary folder", async () => {
  await using dir = await tempFolder();
  const { command, args } = selfCommand(["standin", "agent", "--temp", dir.path]);
  const env = { PATH: "/usr/bin:/bin", HOME: dir.path };
  const group = startGroup({ command, args, cwd: dir.path, env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  group.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })}\n`);
  await group.stdin?.flush();
  await group.stdout?.getReader().read();

  group.signalLeader("SIGKILL");

  expect((await group.exited).signal).toBe("SIGKILL");
  expect(readdirSync(dir.path).filter((name) => name.startsWith("proctor-agent-"))).toEqual([]);
});

test("standin agent announces itself, takes its configuration, edits clamp and adds a test that passes", async () => {
  await using dir = await tempFolder();

  const frames = await play("honest", dir.path);

  expect(answer(frames, 1).agentInfo.name).toBe("proctor-standin-agent");
  const values = answer(frames, 4).configOptions.map((one: Frame) => [one.id, one.currentValue]);
  expect(values).toEqual([
    ["model", "gpt-5.6-luna"],
    ["reasoning_effort", "medium"],
  ]);
  expect(answer(frames, 5)).toEqual({ stopReason: "end_turn" });
  expect(readFileSync(`${dir.path}/clamp.ts`, "utf8")).toContain("RangeError");
  expect(existsSync(`${dir.path}/clamp-extra.test.ts`)).toBe(true);
  expect(frames.findLast((one) => one.params?.update?.toolCallId === "t3")?.params.update.status).toBe("completed");
});

test("standin agent bends one thing by name", async () => {
  await using dir = await tempFolder();

  expect(answer(await play("other-version", dir.path), 1).agentInfo.version).toBe("0.0.0-other");
  expect(answer(await play("no-identity", dir.path), 1).agentInfo).toBeUndefined();
  expect(kinds(await play("no-activity", dir.path)).every((kind) => kind === "agent_message_chunk")).toBe(true);
  expect(kinds(await play("no-message", dir.path))).not.toContain("agent_message_chunk");
  expect(answer(await play("stops-early", dir.path), 5)).toEqual({ stopReason: "max_tokens" });
  expect((await play("asks-permission", dir.path)).some((one) => one.method === "session/request_permission")).toBe(
    true,
  );
  await play("edits-other-file", dir.path);
  expect(readFileSync(`${dir.path}/README.md`, "utf8")).not.toBe("# fixture\n");
});

test("standin agent without a test, or split into pieces, still speaks whole frames", async () => {
  await using dir = await tempFolder();

  await play("adds-no-test", dir.path);
  expect(existsSync(`${dir.path}/clamp-extra.test.ts`)).toBe(false);
  expect(answer(await play("honest-split-chunks", dir.path), 5)).toEqual({ stopReason: "end_turn" });
});
