// The model seat: a scripted endpoint of our own for real programs, and the configuration that leads them to it.
// It needs no key and no login, and nothing but loopback is asked. Its managed turn is held until the server is back.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { holdsWithin } from "../base/clock.ts";
import { Failure } from "../base/failure.ts";
import { createPrivateFile, readPrivateFile } from "../base/private-files.ts";
import type { ProcessGroup } from "../base/process-group.ts";
import { selfCommand } from "../base/self.ts";
import { startNoted } from "../base/start-gate.ts";
import { acceptanceEffort, acceptanceModel, type Seat } from "../contract/report.ts";
import type { HarnessCode } from "./codes.ts";
import { harnessLimits } from "./limits.ts";
import type { AcceptOptions, Run } from "./run.ts";

export interface ModelSeat {
  readonly baseUrl: string;
  readonly group: ProcessGroup;
}

/** True when a real program takes part and the account's model was not asked for. */
export function needsModel(options: AcceptOptions): boolean {
  return !options.account && (options.codexPath !== undefined || options.adapterScript !== undefined);
}

/** Says who answers as the model; null when nobody has to, or when the account's own does. */
export function modelSeat(options: AcceptOptions, self: Pick<Seat, "version" | "path" | "sha256">): Seat | null {
  return needsModel(options) ? { kind: "standin", name: "proctor-standin-model", ...self } : null;
}

/** Starts the endpoint, waits for its port, and writes the configuration the adapter's Codex reads. */
export async function startModel(run: Run, language: "python" | "typescript"): Promise<void> {
  if (!needsModel(run.options)) return;
  const portFile = join(run.space.private, "model-port");
  const files = ["--port-file", portFile, "--gate", gatePath(run.space.root)];
  const group = startProgram(run, ["standin", "model", "--scenario", `acceptance-${language}`, ...files]);
  run.services.model = { baseUrl: "", group };
  let port: string | null = null;
  await holdsWithin(
    () => {
      port = portIn(portFile);
      return port !== null || !group.running();
    },
    { withinMs: run.limits.readinessMs, everyMs: harnessLimits.readinessPollMs },
  );
  if (port === null) throw new Failure<HarnessCode>("model_endpoint_not_ready");
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  run.services.model = { baseUrl, group };
  createPrivateFile(join(run.space.codexHome, "config.toml"), configFile(baseUrl));
}

/** Lets the held turn go on, that of the scripted model or of the stand-in agent; once is enough. */
export function openGate(run: Run): void {
  const path = gatePath(run.space.root);
  if (!existsSync(path)) createPrivateFile(path, "");
}

/** The file a held turn waits for. */
export function gatePath(root: string): string {
  return join(root, "private", "turn-gate");
}

/** Ends the endpoint; without one there is nothing to end. */
export async function stopModel(run: Run): Promise<void> {
  const { stopTermMs, stopKillMs } = run.limits;
  await run.services.model?.group.stop({ termMs: stopTermMs, killMs: stopKillMs });
}

/** The same keys as words for `codex exec`, which ignores the file; empty without an endpoint. */
export function modelFlags(run: Run): string[] {
  const { model } = run.services;
  if (model === null || run.options.codexPath === undefined) return [];
  const inline = provider(model.baseUrl).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return [
    'model_provider="scripted"',
    `model_providers={scripted={${inline.join(",")}}}`,
    ...["analytics.enabled=false", "features.plugins=false"],
  ].flatMap((setting) => ["--config", setting]);
}

/** The configuration file, without any credential. */
export function configFile(baseUrl: string): string {
  return [
    `model = ${JSON.stringify(acceptanceModel)}`,
    `model_reasoning_effort = ${JSON.stringify(acceptanceEffort)}`,
    'model_provider = "scripted"',
    "[model_providers.scripted]",
    ...provider(baseUrl).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
    "[analytics]",
    "enabled = false",
    "[features]",
    "plugins = false",
    "",
  ].join("\n");
}

/** No retries: a scripted endpoint that fails once fails always, and the run should say so at once. */
function provider(baseUrl: string): ReadonlyArray<readonly [string, string | number | boolean]> {
  return [
    ["name", "scripted"],
    ["base_url", baseUrl],
    ["wire_api", "responses"],
    ["requires_openai_auth", false],
    ["supports_websockets", false],
    ["request_max_retries", 0],
    ["stream_max_retries", 0],
  ];
}

function startProgram(run: Run, words: readonly string[]): ProcessGroup {
  const { command, args } = selfCommand(words);
  try {
    return startNoted({ command, args, cwd: run.space.root, env: run.env }, (id) => run.census.note(id, "model"));
  } catch (error) {
    throw new Failure<HarnessCode>("harness_process_start_failed", { cause: error });
  }
}

/** The port, once the whole line is there. */
function portIn(path: string): string | null {
  if (!existsSync(path)) return null;
  const text = new TextDecoder().decode(readPrivateFile(path, { maxBytes: 16 }));
  return /^([1-9][0-9]{0,4})\n$/.exec(text)?.[1] ?? null;
}
