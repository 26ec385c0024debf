// Stands between a runner and its agent's command, as a runner that handles its agent badly would: it sends the prompt
// twice, starts the command twice, or keeps the agent's answers to itself. Everything else is passed on.
import { isRecord, parseJson } from "../base/json.ts";
import { LineSplitter } from "../base/lines.ts";
import { standinLimits } from "./limits.ts";

export const pipeModes = ["prompts-twice", "starts-twice", "holds-setup"] as const;
export type PipeMode = (typeof pipeModes)[number];

export interface PipeOptions {
  readonly mode: PipeMode;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly input: ReadableStream<Uint8Array>;
  readonly write: (bytes: Uint8Array | string) => void;
}

/** The id of the second prompt; its answer is kept from the runner. */
const secondId = 900_001;

/** Runs to the command's end and gives its status. */
export async function runPipe(options: PipeOptions): Promise<number> {
  if (options.mode === "starts-twice") await startOnceInVain(options);
  const child = start(options);
  const up = passUp(options, child.stdin);
  await passDown(options, child.stdout);
  void up;
  return await child.exited;
}

function start({ command, env, cwd }: PipeOptions): Bun.Subprocess<"pipe", "pipe", "ignore"> {
  return Bun.spawn([...command], { cwd, env: { ...env }, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
}

/** One start that is greeted, so that it surely ran, and then ended. */
async function startOnceInVain(options: PipeOptions): Promise<void> {
  const child = start(options);
  const params = { protocolVersion: 1, clientCapabilities: {} };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  await child.stdin.flush();
  const reader = child.stdout.getReader();
  await reader.read();
  child.stdin.end();
  while (!(await reader.read()).done);
  await child.exited;
}

async function passUp(options: PipeOptions, stdin: Bun.FileSink): Promise<void> {
  const lines = new LineSplitter({ maxLineBytes: standinLimits.maxFrameBytes });
  for await (const chunk of options.input)
    for (const line of lines.push(chunk)) {
      stdin.write(line);
      stdin.write("\n");
      const message = options.mode === "prompts-twice" ? parseJson(line) : undefined;
      if (isRecord(message) && message.method === "session/prompt")
        stdin.write(`${JSON.stringify({ ...message, id: secondId })}\n`);
      await stdin.flush();
    }
  stdin.end();
}

async function passDown(options: PipeOptions, stdout: ReadableStream<Uint8Array>): Promise<void> {
  const lines = new LineSplitter({ maxLineBytes: standinLimits.maxFrameBytes });
  for await (const chunk of stdout)
    for (const line of lines.push(chunk)) {
      if (options.mode === "holds-setup") continue;
      const message = options.mode === "prompts-twice" ? parseJson(line) : undefined;
      if (isRecord(message) && message.id === secondId) continue;
      options.write(`${new TextDecoder().decode(line)}\n`);
    }
}
