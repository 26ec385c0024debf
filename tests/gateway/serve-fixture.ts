// `proctor gateway serve` as a process of its own, from the source, and the operator's words to it.
import { holdsWithin } from "../../src/base/clock.ts";
import { type ProcessGroup, startGroup } from "../../src/base/process-group.ts";
import { runProgram } from "../../src/base/run-program.ts";
import { selfCommand } from "../../src/base/self.ts";

export interface ServeFacts {
  /** Where the program runs; the runtime folder is `run` inside it unless named. */
  readonly folder: string;
  readonly runtimeDir?: string;
  readonly upstream: readonly string[];
  readonly words?: readonly string[];
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

export interface Served extends AsyncDisposable {
  readonly runtimeDir: string;
  readonly addresses: readonly string[];
  readonly group: ProcessGroup;
  /** `gateway WORD --runtime-dir D MORE…`, run to its end. */
  operator(word: string, ...more: string[]): Promise<{ code: number | null; out: string; err: string }>;
}

/** Starts it and waits until it says that it is ready; the outcome of a start that fails is thrown as text. */
export async function serve(facts: ServeFacts): Promise<Served> {
  const env = { PATH: process.env.PATH ?? "", HOME: facts.folder, ...facts.env };
  const runtimeDir = facts.runtimeDir ?? `${facts.folder}/run`;
  const cwd = facts.cwd ?? facts.folder;
  const words = ["gateway", "serve", "--runtime-dir", runtimeDir, ...(facts.words ?? []), "--", ...facts.upstream];
  const group = startGroup({ ...selfCommand(words), cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const told = { out: "", err: "" };
  const read = async (stream: ReadableStream<Uint8Array>, to: "out" | "err") => {
    for await (const chunk of stream) told[to] += new TextDecoder().decode(chunk);
  };
  const reading = [read(group.stdout!, "out"), read(group.stderr!, "err")];
  let ended = false;
  void group.exited.then(() => {
    ended = true;
  });
  await holdsWithin(() => ended || told.out.endsWith("}\n"), { withinMs: 60_000, everyMs: 10 });
  if (ended) {
    await Promise.all(reading);
    throw new Error(told.err);
  }
  return {
    runtimeDir,
    addresses: JSON.parse(told.out).addresses,
    group,
    async operator(word, ...more) {
      const self = selfCommand(["gateway", word, "--runtime-dir", runtimeDir, ...more]);
      const done = await runProgram({ ...self, cwd, env, timeoutMs: 60_000, maxOutputBytes: 1024 * 1024 });
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code: done.code, out: text(done.stdout), err: text(done.stderr) };
    },
    async [Symbol.asyncDispose]() {
      await group.stop();
    },
  };
}
