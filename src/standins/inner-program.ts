// The real embedded part behind a stand-in: started as a process of this executable, in the stand-in's own group, so
// that whoever ends the one ends the other. What it says on stderr is passed on line by line.
import { LineSplitter } from "../base/lines.ts";
import { standinLimits } from "./limits.ts";

export interface InnerProgram {
  readonly exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

export interface InnerOptions {
  readonly words: { readonly command: string; readonly args: readonly string[] };
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly onLine: (line: string) => void;
}

export function startInner(options: InnerOptions): InnerProgram {
  const { words, env, cwd, onLine } = options;
  const child = Bun.spawn([words.command, ...words.args], {
    cwd,
    env: { ...env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  void readLines(child.stderr, onLine);
  return { exited: child.exited, kill: (signal) => child.kill(signal) };
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const lines = new LineSplitter({ maxLineBytes: standinLimits.maxLogLineBytes });
  try {
    for await (const chunk of stream) for (const line of lines.push(chunk)) onLine(new TextDecoder().decode(line));
  } catch {
    // A line too long, or a pipe that broke: the log is for counting only, and its end is the program's.
  }
}
