// runner.toml: private, bounded, read once at start. Unknown keys are left alone, wrong values are refused, and no
// control-plane credential can be mapped into an agent's environment.
import { decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { readPrivateFile } from "../base/private-files.ts";
import { Secret } from "../base/secret.ts";
import { z } from "../contract/schema.ts";
import type { RunnerCode } from "./codes.ts";
import { runnerLimits } from "./limits.ts";

const plain = /^[^\u0000-\u001f\u007f]*$/;
const name = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const credentials = /^(?:WEBCODEX_.*|AUTHORIZATION)$/i;
const Absolute = z
  .string()
  .startsWith("/")
  .max(1024)
  .regex(/^[^\0]*$/);

const Agent = z.object({
  id: z.string().min(1).max(64).regex(plain),
  name: z.string().min(1).max(128).regex(plain),
  executable: Absolute,
  args: z
    .array(
      z
        .string()
        .max(8192)
        .regex(/^[^\0]*$/),
    )
    .max(runnerLimits.maxArgs)
    .default([]),
  allowed_config_options: z.array(z.string().min(1).max(128)).max(64).default([]),
  env_from_env: z.record(z.string().regex(name), z.string().regex(name)).default({}),
});

const File = z.object({
  transport: z.literal("websocket").default("websocket"),
  server_url: z.string().max(512),
  token: z.string().min(1).max(512),
  owner: z.string().min(1).max(128).optional(),
  client_id: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z0-9._-]+$/),
  project_registry_dir: Absolute,
  policy: z
    .object({
      allow_cwd_anywhere: z.boolean().default(false),
      allowed_roots: z.array(Absolute).max(256).optional(),
    })
    .default({ allow_cwd_anywhere: false }),
  acp: z
    .object({
      max_concurrent_runs: z.int().min(1).max(8).default(1),
      permission_timeout_secs: z.int().min(1).max(60).default(5),
      forced_config: z.record(z.string().min(1).max(128), z.union([z.string(), z.boolean(), z.int()])).default({}),
      agents: z.array(Agent).max(runnerLimits.maxAgents).default([]),
    })
    .default({ max_concurrent_runs: 1, permission_timeout_secs: 5, forced_config: {}, agents: [] }),
});

export type AgentConfig = z.infer<typeof Agent>;

export interface RunnerConfig {
  readonly serverUrl: string;
  readonly token: Secret;
  readonly owner: string | null;
  readonly clientId: string;
  readonly projectFolder: string;
  /** Null when any root is allowed. */
  readonly allowedRoots: readonly string[] | null;
  readonly maxConcurrentRuns: number;
  readonly permissionTimeoutMs: number;
  readonly forcedConfig: Readonly<Record<string, string | boolean | number>>;
  readonly agents: readonly AgentConfig[];
}

/** Reads and checks the file; `runner_config_invalid` names nothing of its content. */
export function readRunnerConfig(path: string): RunnerConfig {
  const text = decodeUtf8(readPrivateFile(path, { maxBytes: runnerLimits.maxConfigBytes }));
  if (text === null) throw new Failure<RunnerCode>("runner_config_invalid");
  let value: unknown;
  try {
    value = Bun.TOML.parse(text);
  } catch {
    throw new Failure<RunnerCode>("runner_config_invalid"); // The parser's message can quote the token.
  }
  return parseRunnerConfig(value);
}

export function parseRunnerConfig(value: unknown): RunnerConfig {
  const parsed = File.safeParse(value);
  if (!parsed.success) throw new Failure<RunnerCode>("runner_config_invalid");
  const file = parsed.data;
  const ids = new Set(file.acp.agents.map((agent) => agent.id));
  if (ids.size !== file.acp.agents.length) throw new Failure<RunnerCode>("runner_config_invalid");
  for (const agent of file.acp.agents)
    for (const [to, from] of Object.entries(agent.env_from_env))
      if (credentials.test(to) || credentials.test(from))
        throw new Failure<RunnerCode>("runner_config_credential_mapped");
  return {
    serverUrl: serverUrl(file.server_url),
    token: Secret.from(file.token),
    owner: file.owner ?? null,
    clientId: file.client_id,
    projectFolder: file.project_registry_dir,
    allowedRoots: file.policy.allow_cwd_anywhere ? null : (file.policy.allowed_roots ?? null),
    maxConcurrentRuns: file.acp.max_concurrent_runs,
    permissionTimeoutMs: file.acp.permission_timeout_secs * 1000,
    forcedConfig: file.acp.forced_config,
    agents: file.acp.agents,
  };
}

/** http towards this machine only; anything further away has to be https. */
function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const near = url !== null && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url === null || url.username !== "" || url.search !== "" || url.hash !== "")
    throw new Failure<RunnerCode>("runner_config_invalid");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && near))
    throw new Failure<RunnerCode>("runner_config_invalid");
  return text.replace(/\/+$/, "");
}
