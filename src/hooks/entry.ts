// The fast door of the two hooks: reads the words by hand, runs one of them, and leaves by exit 0, 1 or 64 (never 2,
// which hosts take as an order). What an observer prints can never become context: its result goes to stderr.
import { pickEnvironment } from "../base/environment.ts";
import { writeWhole } from "../base/output.ts";
import { currentFolder, processEnvironment, selfCommand } from "../base/self.ts";
import { readHookInput } from "./hook-input.ts";
import { flush, observe } from "./observe.ts";
import { compactAscii, type ExactJson } from "./python-json.ts";
import { isAbsolutePath } from "./roots.ts";

interface Words {
  readonly values: ReadonlyMap<string, string>;
  readonly switches: ReadonlySet<string>;
}

const usage = {
  observe: `Usage: proctor hook observe --config FILE [--flush] [--deliver inline|background] [--json]

Saves the report of one PostToolUse payload from stdin, then delivers what is pending.
  --config FILE   private configuration of the conversation (absolute path)
  --flush         read no payload, only deliver what is pending
  --deliver HOW   inline (default) delivers before it ends; background returns after the save
  --json          print the result on stdout instead of stderr

Example: proctor hook observe --config /home/me/.webcodex/observe.json --deliver background
`,
  recover: `Usage: proctor hook recover --registry FILE

Answers a SessionStart or UserPromptSubmit payload from stdin with the saved state of the associated work.
  --registry FILE   private registry of associations

Example: proctor hook recover --registry /home/me/.webcodex/registry.json
`,
} as const;

/** `words` are those after "hook": observe or recover first. */
export async function hookEntry(words: string[]): Promise<number> {
  const [which, ...rest] = words;
  const name = which === "recover" ? "recover" : "observe";
  if (rest.includes("--help") || rest.includes("-h")) {
    writeWhole(1, usage[name]);
    return 0;
  }
  const parsed = readWords(rest, name === "observe" ? observeFlags : recoverFlags);
  if (typeof parsed === "string")
    return await refuseWords(`proctor hook ${name}: ${parsed} Try \`proctor hook ${name} --help\`.`);
  return name === "observe" ? await runObserve(parsed) : await runRecover(parsed);
}

const observeFlags = { values: ["--config", "--deliver"], switches: ["--flush", "--json"] };
const recoverFlags = { values: ["--registry"], switches: [] as string[] };

function readWords(words: readonly string[], flags: typeof observeFlags): Words | string {
  const values = new Map<string, string>();
  const switches = new Set<string>();
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const at = word.indexOf("=");
    const flag = word.startsWith("--") && at > 0 ? word.slice(0, at) : word;
    // Noted above as one of our own flags: what a host wrote otherwise is never said back.
    if (values.has(flag) || switches.has(flag)) return `${flag} may be given once only.`;
    if (flags.switches.includes(word)) switches.add(word);
    else if (flags.values.includes(flag)) {
      const value = at > 0 && flag !== word ? word.slice(at + 1) : words[++i];
      if (value === undefined || value === "") return `${flag} needs a value.`;
      values.set(flag, value);
    } else return "Unknown word.";
  }
  const needed = flags.values[0]!;
  if (!values.has(needed)) return `${needed} is required.`;
  const deliver = values.get("--deliver") ?? "inline";
  return deliver === "inline" || deliver === "background" ? { values, switches } : "--deliver is inline or background.";
}

async function refuseWords(sentence: string): Promise<number> {
  writeWhole(2, `${sentence}\n`);
  // A host that is still writing must not meet a closed pipe; a person at a terminal is not waited for.
  if (!process.stdin.isTTY) await readHookInput(() => Bun.stdin.stream());
  return 64;
}

async function runObserve(words: Words): Promise<number> {
  const configPath = words.values.get("--config")!;
  const deliver = words.values.get("--deliver") === "background" ? "background" : "inline";
  const flushing = words.switches.has("--flush");
  const startFlush = () => startDetachedFlush(configPath);
  const result = flushing
    ? await flush({ configPath, deliver })
    : await observe(await readHookInput(() => Bun.stdin.stream()), { configPath, deliver, startFlush });
  const onStdout = flushing || words.switches.has("--json");
  const failed = result.status === "incomplete";
  // A failure is told on stderr as well, where the host's log keeps it.
  const line = `${compactAscii({ ...result } as unknown as ExactJson)}\n`;
  if (onStdout) writeWhole(1, line);
  if (!onStdout || failed) writeWhole(2, line);
  return failed ? 1 : 0;
}

/** The one allowed survivor: own session, no pipe of ours, ended by its own budget. */
function startDetachedFlush(configPath: string): void {
  const self = selfCommand(["hook", "observe", "--config", configPath, "--flush", "--deliver", "background"]);
  try {
    const child = Bun.spawn([self.command, ...self.args], {
      cwd: "/",
      // Large pages as in the printed commands; without the compiler there would be no lock.
      env: { ...pickEnvironment(processEnvironment(), ["SSL_CERT_FILE", "SSL_CERT_DIR"]), MIMALLOC_ALLOW_THP: "1" },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      detached: true,
    });
    child.unref();
  } catch {
    // Nothing is lost: the record is on disk, and the next hook or an operator's flush delivers it.
  }
}

async function runRecover(words: Words): Promise<number> {
  const { recover } = await import("./recover.ts");
  const input = await readHookInput(() => Bun.stdin.stream());
  const answer = await recover(input, { registryPath: absolutePath(words.values.get("--registry")!) });
  writeWhole(1, `${answer.text}\n`);
  return answer.failed ? 1 : 0;
}

function absolutePath(path: string): string {
  return isAbsolutePath(path) ? path : `${currentFolder()}/${path}`;
}
