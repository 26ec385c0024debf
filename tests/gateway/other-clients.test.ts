// WebSocket clients that are none of ours, each running a turn with an approval: Bun's, npm `ws` under Node, and the
// `websockets` package of Python (Debian: python3-websockets). The last two skip where they are missing.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { standinGateway } from "./app-server-fixture.ts";
import { readyClient } from "./gateway-fixture.ts";

/** The program with a bearer of its own in its environment, run to its end; gives what it printed. */
async function runClient(command: readonly string[], more: Record<string, string> = {}): Promise<string> {
  await using dir = await tempFolder();
  await using opened = await standinGateway(dir.path, "stdio");
  const credential = opened.gateway.issue(opened.bootstrap, "guest", "interactive");
  const done = await runProgram({
    command: command[0]!,
    args: command.slice(1).map((word) => (word === "URL" ? opened.url : word)),
    cwd: dir.path,
    env: { PATH: process.env.PATH ?? "", HOME: dir.path, TOK: credential.exposeBearer((bearer) => bearer), ...more },
    timeoutMs: 120_000,
    maxOutputBytes: 1024 * 1024,
  });
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return `${text(done.stdout)}${text(done.stderr)}`;
}

const nodePath = Bun.which("node");
const pythonPath = ["/usr/bin/python3", Bun.which("python3") ?? "python3"].find(
  (path) => existsSync(path) && Bun.spawnSync([path, "-c", "import websockets"], { stderr: "ignore" }).exitCode === 0,
);

test("Bun's WebSocket runs a turn with an approval", async () => {
  await using dir = await tempFolder();
  await using opened = await standinGateway(dir.path, "stdio");
  const one = await readyClient(opened.url, opened.gateway.issue(opened.bootstrap, "bun", "interactive"));
  const threadId = (await one.call("thread/start")).result.thread.id;
  await one.call("turn/start", { threadId, input: [{ type: "text", text: "please approve" }] });
  const asked = await one.wait((message) => String(message.method).endsWith("requestApproval"));
  one.send({ id: asked.id, result: { decision: "accept" } });
  await one.wait((message) => message.method === "turn/completed");
  await one.close();
  expect(await one.closed).toBe(1000);
});

test.skipIf(nodePath === null)("npm ws under Node runs a turn with an approval", async () => {
  const program = `${projectRoot}fixtures/programs/ws-client.mjs`;
  expect(await runClient([nodePath!, program, "URL", `${projectRoot}node_modules/ws`])).toBe("done 1000\n");
});

test.skipIf(pythonPath === undefined)("Python's websockets runs a turn with an approval", async () => {
  const program = `${projectRoot}fixtures/programs/ws_client.py`;
  expect(await runClient([pythonPath!, program, "URL"])).toBe("done 1000\n");
});
