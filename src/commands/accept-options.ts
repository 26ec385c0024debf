// The words of `accept`, shared by the front process and its worker, and what they mean.
import { isAbsolute, join } from "node:path";
import { toHex } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { parseJson } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import { systemRandom } from "../base/random.ts";
import { currentFolder, processEnvironment, stateFolder } from "../base/self.ts";
import type { Subject } from "../contract/subject.ts";
import type { AcceptOptions } from "../harness/run.ts";
import { type Fault, faultPoints, faultTargets, parseFault } from "../judge/fault-points.ts";
import { buildFacts } from "../version.ts";
import { UsageError } from "./strict-args.ts";
import type { ArgumentValues } from "./strict-command.ts";

export const acceptArguments = {
  "output-dir": { type: "string", valueHint: "D", description: "New folder for the evidence; must not exist." },
  "bin-dir": { type: "string", valueHint: "B", description: "Folder of real webcodex-server and webcodex-runner." },
  "codex-path": { type: "string", valueHint: "C", description: "The real Codex as consumer." },
  "adapter-script": { type: "string", valueHint: "A", description: "dist/index.js of the real codex-acp adapter." },
  "node-path": { type: "string", valueHint: "N", description: "Node.js for the adapter; found on PATH by default." },
  "model-endpoint": {
    type: "string",
    choices: ["standin", "account"],
    defaultText: "standin",
    description: "Which model real programs talk to.",
  },
  fixture: {
    type: "string",
    choices: ["auto", "python", "typescript"],
    defaultText: "auto",
    description: "Language of the fixture project.",
  },
  timeout: { type: "string", valueHint: "30..900", defaultText: "300", description: "Seconds for each stage." },
  "host-job-id": { type: "string", valueHint: "ID", description: "Copied into the report as it is." },
  fault: {
    type: "string",
    valueHint: "POINT:SIGNAL[:TARGET]",
    description: "End server, runner, adapter or consumer at a named point; docs/report.md has the table.",
  },
  "fail-fast": { type: "boolean", description: "Start no further stage once one has failed." },
  subject: { type: "string", valueHint: "FILE", hidden: true, description: "A calibration subject." },
  junit: { type: "string", valueHint: "F", description: "Write JUnit here as well." },
  html: { type: "string", valueHint: "F", description: "Write the verdict page here as well." },
  json: { type: "boolean", description: "Print the report as JSON." },
} as const;

export type AcceptArguments = ArgumentValues<typeof acceptArguments>;

/** A new folder's name in the folder one stands in. */
export function freshFolderName(now: Date): string {
  const stamp = now.toISOString().replace(/[-:]/g, "").slice(0, 15);
  return `proctor-${stamp}Z-${toHex(systemRandom(3))}`;
}

/** Words that would have no effect are refused; the two that have one only together with another. */
export function checkWords(args: AcceptArguments): void {
  faultOf(args);
  if (args["node-path"] !== undefined && args["adapter-script"] === undefined)
    throw new UsageError("--node-path is the adapter's Node.js and needs --adapter-script.");
}

/** The fault that is asked for; a wrong one, or one that no real service could obey, is a usage error. */
export function faultOf(args: AcceptArguments): Fault | null {
  const text = args.fault;
  if (text === undefined) return null;
  if (args["bin-dir"] !== undefined)
    throw new UsageError("--fault needs the embedded server and runner and cannot be used with --bin-dir.");
  const fault = parseFault(text);
  if (fault === null)
    throw new UsageError(
      `--fault takes POINT:SIGNAL[:${faultTargets.join("|")}] with a point of ${faultPoints.join(", ")} and SIGKILL, or SIGINT for the server.`,
    );
  return fault;
}

/** Words to options; numbers that are no numbers are left for the harness to refuse. */
export function acceptOptions(args: AcceptArguments, subject: Subject | null): AcceptOptions {
  const inside = (path: string) => (isAbsolute(path) ? path : join(currentFolder(), path));
  const timeout = args.timeout ?? "300";
  const facts = buildFacts();
  return {
    outputDir: inside(args["output-dir"] ?? freshFolderName(new Date())),
    binDir: args["bin-dir"],
    codexPath: args["codex-path"],
    adapterScript: args["adapter-script"],
    nodePath: args["node-path"],
    account: args["model-endpoint"] === "account",
    fixture: (args.fixture ?? "auto") as AcceptOptions["fixture"],
    timeoutS: /^[0-9]{1,4}$/.test(timeout) ? Number(timeout) : Number.NaN,
    hostJobId: args["host-job-id"] ?? null,
    fault: faultOf(args),
    failFast: args["fail-fast"],
    misbehave: subject?.misbehave ?? {},
    only: subject?.only,
    program: { version: facts.version, commit: facts.commit, sha256: subject?.executableSha256 },
    environment: processEnvironment(),
    stateFolder: stateFolder(),
  };
}

/** Reads the file of a calibration subject. */
export async function readSubject(path: string | undefined): Promise<Subject | null> {
  if (path === undefined) return null;
  const { Subject: schema } = await import("../contract/subject.ts");
  const parsed = schema.safeParse(parseJson(readRegularFile(path, { maxBytes: 65_536 })));
  if (!parsed.success) throw new Failure("subject_file_invalid");
  return parsed.data;
}

/** The same words again, for the worker. */
export function acceptWords(args: AcceptArguments): string[] {
  return Object.entries(args).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : value === true ? [`--${name}`] : [`--${name}=${String(value)}`],
  );
}
