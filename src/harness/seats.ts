// Who fills each seat: the embedded part, a stand-in under its own name, or the real program a path names.
import { realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256FileHex } from "../base/bytes.ts";
import { codeOf, Failure } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import { runProgram } from "../base/run-program.ts";
import { executablePath, selfCommand } from "../base/self.ts";
import { visible } from "../base/visible.ts";
import { realAdapterName, realAdapterVersion, type Seat, type Seats } from "../contract/report.ts";
import type { HarnessCode } from "./codes.ts";
import { harnessLimits } from "./limits.ts";
import { gatePath, modelSeat } from "./model-seat.ts";
import type { AcceptOptions } from "./run.ts";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

export interface SeatPlan {
  readonly server: Program;
  readonly runner: Program;
  readonly consumer: Program;
  readonly adapter: Program;
}

/** Paths made real before anything is created; a missing one is a refusal. */
export function resolveSeatPaths(options: AcceptOptions): AcceptOptions {
  const real = (path: string | undefined): string | undefined => {
    if (path === undefined) return undefined;
    try {
      return realpathSync(path);
    } catch (error) {
      throw new Failure<HarnessCode>("seat_path_missing", { cause: error });
    }
  };
  const adapterScript = real(options.adapterScript);
  const node =
    options.nodePath ??
    (adapterScript === undefined
      ? undefined
      : (Bun.which("node", { PATH: options.environment["PATH"] ?? "" }) ?? "node"));
  const resolved = {
    ...options,
    binDir: real(options.binDir),
    adapterScript,
    codexPath: real(options.codexPath),
    nodePath: real(node),
  };
  if (adapterScript !== undefined && !statSync(adapterScript).isFile())
    throw new Failure<HarnessCode>("adapter_script_required");
  return resolved;
}

/** The command line of each seat. A stand-in agent holds its turn until the gate opens. */
export function planSeats(options: AcceptOptions, python: string | null, mark?: string): SeatPlan {
  const { binDir, codexPath, adapterScript, nodePath, misbehave } = options;
  // The seed maps no TMPDIR into the agent; what a killed one leaves has to lie inside the run's folder all the same.
  const temp = ["--temp", join(options.outputDir, "private", "tmp")];
  const marked = mark === undefined ? [] : ["--mark", mark];
  const held = [
    "--gate",
    gatePath(options.outputDir),
    ...temp,
    ...marked,
    ...(python === null ? [] : ["--python", python]),
  ];
  const bad = (name: string | undefined) => (name === undefined ? [] : ["--misbehave", name]);
  return {
    server:
      binDir === undefined
        ? selfCommand(misbehave.server === undefined ? ["server"] : ["standin", "plane", ...bad(misbehave.server)])
        : { command: join(binDir, "webcodex-server"), args: [] },
    runner:
      binDir === undefined
        ? selfCommand(misbehave.runner === undefined ? ["runner"] : ["standin", "runner", ...bad(misbehave.runner)])
        : { command: join(binDir, "webcodex-runner"), args: [] },
    consumer:
      codexPath === undefined
        ? selfCommand(["standin", "exec", ...bad(misbehave.consumer)])
        : { command: codexPath, args: ["exec"] },
    adapter:
      adapterScript === undefined
        ? selfCommand(["standin", "agent", ...held, ...bad(misbehave.agent)])
        : { command: nodePath ?? "node", args: [adapterScript] },
  };
}

let ownDigest: string | null = null;

/** Digest of this executable: more than a hundred megabytes, so it is read once. */
export function executableDigest(): string {
  ownDigest ??= sha256FileHex(executablePath());
  return ownDigest;
}

/** Asks every real program for its version, reads the adapter's package, and says who sits where. */
export async function describeSeats(
  options: AcceptOptions,
  env: Record<string, string>,
  note: (line: string) => void = () => undefined,
): Promise<{ seats: Seats; binaries: Record<string, unknown>; codex: unknown; adapter: unknown }> {
  const { binDir, codexPath, program } = options;
  const self = { version: program.version, path: executablePath(), sha256: program.sha256 ?? executableDigest() };
  const probe = async (file: string) => {
    try {
      const version = await programVersion(file, env, options.outputDir);
      return { path: file, version, sha256: sha256FileHex(file) };
    } catch (error) {
      // The code says what went wrong, and with three programs asked nobody could tell with which.
      note(`${codeOf(error)}: ${visible(file, 200)}`);
      throw error;
    }
  };
  const binary = async (name: string) => (binDir === undefined ? self : await probe(join(binDir, name)));
  const server = await binary("webcodex-server");
  const runner = await binary("webcodex-runner");
  const codex = codexPath === undefined ? self : await probe(codexPath);
  const adapter = adapterSeat(options, self);
  const seats: Seats = {
    control_plane: { ...controlPlane(options), ...server },
    consumer: {
      kind: codexPath === undefined ? "standin" : "real",
      name: codexPath === undefined ? "proctor-standin-exec" : "codex",
      ...codex,
    },
    adapter,
    model: modelSeat(options, self),
  };
  return {
    seats,
    binaries: { "webcodex-server": server, "webcodex-runner": runner },
    codex: { path: codex.path, version: codex.version },
    adapter: { name: adapter.name, version: adapter.version, script: adapter.path, script_sha256: adapter.sha256 },
  };
}

/** A control plane with one thing wrong is a stand-in, whichever of its two programs it is. */
function controlPlane({ binDir, misbehave }: AcceptOptions): Pick<Seat, "kind" | "name"> {
  if (binDir !== undefined) return { kind: "real", name: "webcodex-server" };
  if (misbehave.server !== undefined) return { kind: "standin", name: "proctor-standin-plane" };
  if (misbehave.runner !== undefined) return { kind: "standin", name: "proctor-standin-runner" };
  return { kind: "embedded", name: "proctor-server" };
}

/** One short line within its time, or a refusal. */
export async function programVersion(file: string, env: Record<string, string>, cwd: string): Promise<string> {
  const result = await runProgram({
    command: file,
    args: ["--version"],
    cwd,
    env,
    timeoutMs: harnessLimits.versionProbeMs,
    maxOutputBytes: 65_536,
  });
  if (!result.started || result.timedOut || result.code !== 0) throw new Failure<HarnessCode>("version_probe_failed");
  const text = new TextDecoder().decode(result.stdout).trim();
  if (result.overflow || [...text].length > harnessLimits.versionChars || /[\r\n]/.test(text))
    throw new Failure<HarnessCode>("unexpected_version_output");
  return text;
}

function adapterSeat(options: AcceptOptions, self: Pick<Seat, "version" | "path" | "sha256">): Seat {
  const script = options.adapterScript;
  if (script === undefined) return { kind: "standin", name: "proctor-standin-agent", ...self };
  const { name, version } = adapterPackage(script);
  return { kind: "real", name, version, path: script, sha256: sha256FileHex(script) };
}

/** The package two folders above the script has to be the pinned adapter. */
export function adapterPackage(script: string): { name: string; version: string } {
  let value: unknown;
  try {
    const file = join(dirname(dirname(script)), "package.json");
    value = parseJson(readRegularFile(file, { maxBytes: harnessLimits.packageFileBytes }));
  } catch (error) {
    throw new Failure<HarnessCode>("adapter_package_unreadable", { cause: error });
  }
  if (!isRecord(value)) throw new Failure<HarnessCode>("adapter_package_unreadable");
  if (value["name"] !== realAdapterName || value["version"] !== realAdapterVersion)
    throw new Failure<HarnessCode>("adapter_package_mismatch");
  return { name: realAdapterName, version: realAdapterVersion };
}
