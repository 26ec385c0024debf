// `proctor standin agent`: a scripted ACP agent on stdio that really edits the project and runs its tests.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { Failure } from "../base/failure.ts";
import { writeWhole } from "../base/output.ts";
import { executablePath, processEnvironment } from "../base/self.ts";
import type { TempFolder } from "../standins/agent-work.ts";
import type { StandinCode } from "../standins/codes.ts";
import { version } from "../version.ts";
import { printText } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "agent",
    description: "A scripted ACP agent on stdio that edits clamp, adds a test and runs the tests.",
    examples: ["proctor standin agent --gate F"],
    notes: ["With --gate it waits in the middle of its turn until the file F exists, for at most 60 seconds."],
  },
  args: {
    misbehave: { type: "string", valueHint: "NAME", description: "Be bad in this one way." },
    gate: { type: "string", valueHint: "F", description: "Wait for this file in the middle of the turn." },
    "pace-ms": {
      type: "string",
      valueHint: "MS",
      description: "Without a gate: how long the turn is held.",
      defaultText: "2500",
    },
    python: {
      type: "string",
      valueHint: "FILE",
      description: "Interpreter for its test run; found on PATH by default.",
    },
    temp: { type: "string", valueHint: "DIR", description: "Where its temporary folder is made; TMPDIR by default." },
    mark: { type: "string", valueHint: "TEXT", description: "Taken, and said by the chatty one." },
    version: { type: "boolean", description: "Print name and version." },
  },
  async run({ args }) {
    if (args.version) {
      printText(`proctor-standin-agent ${version}`);
      return 0;
    }
    const { agentMisbehaviours } = await import("../standins/agent-misbehaviours.ts");
    const { runAgent } = await import("../standins/acp-agent.ts");
    const misbehave = args.misbehave ?? "honest";
    if (!Object.hasOwn(agentMisbehaviours, misbehave)) throw new Failure<StandinCode>("standin_unknown_misbehaviour");
    const pace = args["pace-ms"] ?? "2500";
    if (!/^[0-9]{1,6}$/.test(pace)) throw new UsageError("--pace-ms takes a number of milliseconds.");
    const tempFolder = tempFolderIn(args.temp ?? tmpdir());
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        tempFolder.remove();
        process.exit(143);
      });
    }
    try {
      return await runAgent({
        input: Bun.stdin.stream(),
        write: (text) => void writeWhole(1, text),
        complain: (text) => void writeWhole(2, text),
        mark: args.mark ?? "",
        version,
        misbehave: misbehave as keyof typeof agentMisbehaviours,
        gate: args.gate ?? null,
        paceMs: Number(pace),
        path: processEnvironment().PATH ?? "",
        python: args.python ?? null,
        tempFolder,
        executable: executablePath(),
        exit: (code) => {
          tempFolder.remove();
          process.exit(code);
        },
      });
    } finally {
      tempFolder.remove();
    }
  },
});

function tempFolderIn(parent: string): TempFolder {
  let made: string | null = null;
  return {
    make() {
      made ??= mkdtempSync(`${parent}/proctor-agent-`);
      return made;
    },
    remove() {
      if (made !== null) rmSync(made, { recursive: true, force: true });
      made = null;
    },
  };
}
