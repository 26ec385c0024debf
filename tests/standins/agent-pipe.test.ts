// The pipe before an agent, with a real program behind it that answers each request by its id.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { type PipeMode, runPipe } from "../../src/standins/agent-pipe.ts";
import { tempFolder } from "../support/temp-folder.ts";

const agent = `
import { appendFileSync } from "node:fs";
appendFileSync(process.argv[2], "started\\n");
for await (const line of console) {
  const { id, method } = JSON.parse(line);
  appendFileSync(process.argv[2], method + "\\n");
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { method } }));
}
`;

async function through(mode: PipeMode): Promise<{ seen: string[]; answers: unknown[] }> {
  await using dir = await tempFolder();
  const [program, log] = [join(dir.path, "agent.ts"), join(dir.path, "log")];
  await Bun.write(program, agent);
  const frames = ["initialize", "session/prompt"].map((method, at) => `${JSON.stringify({ id: at + 1, method })}\n`);
  let written = "";
  await runPipe({
    mode,
    command: [process.execPath, program, log],
    env: { PATH: "/usr/bin:/bin" },
    cwd: dir.path,
    input: new Blob(frames).stream(),
    write: (text) => {
      written += String(text);
    },
  });
  const lines = (text: string) => text.split("\n").filter((line) => line !== "");
  return { seen: lines(await Bun.file(log).text()), answers: lines(written).map((line) => JSON.parse(line).id) };
}

test("the prompt goes out twice and only its own answer comes back", async () => {
  expect(await through("prompts-twice")).toEqual({
    seen: ["started", "initialize", "session/prompt", "session/prompt"],
    answers: [1, 2],
  });
});

test("the command is started twice, and what it says is kept back when asked for", async () => {
  expect((await through("starts-twice")).seen).toEqual([
    "started",
    "initialize",
    "started",
    "initialize",
    "session/prompt",
  ]);
  expect((await through("holds-setup")).answers).toEqual([]);
});
