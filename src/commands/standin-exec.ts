// `proctor standin exec`: takes the words of `codex exec` that the harness uses, and no others.

import { readBounded } from "../base/bounded-read.ts";
import { decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { writeWhole } from "../base/output.ts";
import { Secret } from "../base/secret.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import type { StandinCode } from "../standins/codes.ts";
import { version } from "../version.ts";
import { printText } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "exec",
    description: "A scripted consumer: the event stream of `codex exec --json`, with real reads over MCP.",
    examples: ["proctor standin exec --json --cd DIR --config 'mcp_servers={bidirectional={…}}' -"],
    notes: [
      "The prompt comes from stdin. --misbehave NAME makes it bad in exactly one way; `proctor standin list` names them.",
    ],
  },
  args: {
    "ignore-user-config": { type: "boolean", description: "Taken and without effect." },
    "strict-config": { type: "boolean", description: "Taken and without effect." },
    sandbox: { type: "string", valueHint: "MODE", description: "Taken and without effect." },
    ephemeral: { type: "boolean", description: "Taken and without effect." },
    json: { type: "boolean", description: "Taken; the stream is always JSON lines." },
    model: { type: "string", valueHint: "NAME", description: "Taken and without effect." },
    config: { type: "string", repeatable: true, valueHint: "KEY=VALUE", description: "mcp_servers is read." },
    cd: { type: "string", valueHint: "DIR", description: "The project's folder." },
    misbehave: { type: "string", valueHint: "NAME", description: "Be bad in this one way." },
    version: { type: "boolean", description: "Print name and version." },
    stdin: { type: "positional", description: "`-`: the prompt comes from stdin." },
  },
  async run({ args }) {
    if (args.version) {
      printText(`proctor-standin-exec ${version}`);
      return 0;
    }
    const [{ readMcpTarget }, { execMisbehaviours }, { runExec }, { standinLimits }] = await Promise.all([
      import("../standins/exec-argv.ts"),
      import("../standins/exec-misbehaviours.ts"),
      import("../standins/exec-client.ts"),
      import("../standins/limits.ts"),
    ]);
    const misbehave = args.misbehave ?? "honest";
    if (!Object.hasOwn(execMisbehaviours, misbehave)) throw new Failure<StandinCode>("standin_unknown_misbehaviour");
    const target = readMcpTarget(args.config);
    const token = processEnvironment()[target.tokenName];
    if (token === undefined || token === "") throw new Failure<StandinCode>("standin_token_missing");
    const read = await readBounded(Bun.stdin.stream(), { maxBytes: standinLimits.maxPromptBytes });
    if (read.overflow) throw new Failure<StandinCode>("standin_prompt_too_large");
    return await runExec({
      prompt: decodeUtf8(read.bytes) ?? "",
      folder: args.cd ?? currentFolder(),
      target,
      token: Secret.from(token),
      version,
      misbehave: misbehave as keyof typeof execMisbehaviours,
      threadId: Bun.randomUUIDv7(),
      mark: processEnvironment().PROCTOR_ACCEPT_MARK ?? "",
      write: (text) => void writeWhole(1, text),
      complain: (text) => void writeWhole(2, text),
    });
  },
});
