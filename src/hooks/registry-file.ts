// The registry of associations: which Session's saved state may be read from which folders. Private, outside every
// project it names, replaced whole or not at all.
import { utf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { replacePrivateFile } from "../base/private-files.ts";
import type { HooksCode, OperatorFileCode } from "./codes.ts";
import { hasExactly } from "./handoff-goal.ts";
import { hookLimits } from "./limits.ts";
import { readPrivateText } from "./operator-files.ts";
import { compactAscii, type ExactJson, parseExact, prettyText } from "./python-json.ts";
import { isAbsolutePath, isInside, type RootIdentity, resolveLoose } from "./roots.ts";
import { requireServerOrigin } from "./server-address.ts";

export interface EntryRoot {
  readonly path: string;
  readonly identity: RootIdentity;
}

export interface Binding {
  readonly project: string;
  readonly projectRoot: string;
  readonly projectIdentity: RootIdentity;
  readonly entryRoots: readonly EntryRoot[];
  readonly workflowSessionId: string;
  /** Empty: any conversation. */
  readonly localSessionId: string;
}

export interface Registry {
  readonly serverUrl: string;
  readonly authorizationFile: string;
  readonly stateDir: string;
  readonly bindings: readonly Binding[];
}

export const workflowSessionPattern = /^wc_sess_[A-Za-z0-9_-]{1,128}$/;

/** Loads and checks the file at `path`, which the caller has made absolute. */
export function loadRegistry(path: string): Registry {
  const value = parseExact(readPrivateText(path));
  if (value === undefined) throw new Failure<OperatorFileCode>("operator_file_not_json");
  return parseRegistry(value, path);
}

export function parseRegistry(value: unknown, path: string): Registry {
  const invalid = () => new Failure<HooksCode>("invalid_recovery_registry");
  if (!hasExactly(value, ["version", "server_url", "authorization_file", "state_dir", "bindings"])) throw invalid();
  const {
    version,
    server_url: serverUrl,
    authorization_file: authorizationFile,
    state_dir: stateDir,
    bindings,
  } = value;
  if (version !== 1 || !isFilled(serverUrl) || !isFilled(authorizationFile) || !isFilled(stateDir)) throw invalid();
  if (!Array.isArray(bindings) || bindings.length > hookLimits.maxBindings) throw invalid();
  requireServerOrigin(serverUrl);
  if (!isAbsolutePath(authorizationFile) || !isAbsolutePath(stateDir)) {
    throw new Failure<HooksCode>("absolute_authorization_file_required");
  }
  const files = [path, authorizationFile, stateDir].map(resolveLoose);
  return { serverUrl, authorizationFile, stateDir, bindings: bindings.map((one) => parseBinding(one, files)) };
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.isWellFormed();
}

const bindingKeys = [
  "project",
  "project_root",
  "project_identity",
  "entry_roots",
  "workflow_session_id",
  "local_session_id",
];

function parseBinding(value: unknown, files: readonly string[]): Binding {
  const invalid = () => new Failure<HooksCode>("invalid_recovery_association");
  if (!hasExactly(value, bindingKeys)) throw invalid();
  const { project, workflow_session_id: session, local_session_id: local, entry_roots: entries } = value;
  if (typeof project !== "string" || !project.startsWith("agent:")) throw invalid();
  if (typeof session !== "string" || !workflowSessionPattern.test(session)) throw invalid();
  if (typeof local !== "string" || [...local].length > hookLimits.maxConversationIdChars) throw invalid();
  if (!Array.isArray(entries) || entries.length < 1 || entries.length > hookLimits.maxEntryRoots) throw invalid();
  for (const entry of entries) {
    if (!hasExactly(entry, ["path", "identity"])) throw new Failure<HooksCode>("invalid_entry_root");
  }
  const projectIdentity = parseIdentity(value.project_identity);
  const identities = entries.map((entry) => parseIdentity((entry as Record<string, unknown>).identity));
  const projectRoot = requireRoot(value.project_root);
  const entryRoots = entries.map((entry, i) => ({
    path: requireRoot((entry as Record<string, unknown>).path),
    identity: identities[i]!,
  }));
  for (const root of [projectRoot, ...entryRoots.map((entry) => entry.path)]) {
    const resolved = resolveLoose(root);
    if (files.some((file) => isInside(file, resolved))) {
      throw new Failure<HooksCode>("operator_files_must_be_outside_projects");
    }
  }
  return { project, projectRoot, projectIdentity, entryRoots, workflowSessionId: session, localSessionId: local };
}

function parseIdentity(value: unknown): RootIdentity {
  const whole = (one: unknown) => (typeof one === "bigint" || Number.isSafeInteger(one)) && (one as number) >= 0;
  if (!Array.isArray(value) || value.length !== 2 || !value.every(whole)) {
    throw new Failure<HooksCode>("invalid_root_identity");
  }
  return [BigInt(value[0] as number), BigInt(value[1] as number)];
}

function requireRoot(value: unknown): string {
  if (typeof value !== "string") throw new Failure<OperatorFileCode>("root_not_text");
  if (!isAbsolutePath(value)) throw new Failure<HooksCode>("absolute_project_root_required");
  return value;
}

/** The registry in the key order of its file. */
export function registryValue(registry: Registry): ExactJson {
  return {
    version: 1,
    server_url: registry.serverUrl,
    authorization_file: registry.authorizationFile,
    state_dir: registry.stateDir,
    bindings: registry.bindings.map(bindingValue),
  };
}

export function bindingValue(binding: Binding): ExactJson {
  return {
    project: binding.project,
    project_root: binding.projectRoot,
    project_identity: [...binding.projectIdentity],
    workflow_session_id: binding.workflowSessionId,
    local_session_id: binding.localSessionId,
    entry_roots: binding.entryRoots.map((entry) => ({ path: entry.path, identity: [...entry.identity] })),
  };
}

/** True when two values say the same, whatever the order of their keys. */
export function sameValue(left: ExactJson, right: ExactJson): boolean {
  return compactAscii(left, { sorted: true }) === compactAscii(right, { sorted: true });
}

/** Replaces the file. The caller holds the state lock and has read the file again under it. */
export function writeRegistry(path: string, registry: Registry): void {
  writeBounded(path, registryValue(registry));
}

/** One private file as pretty JSON within the limit of files that are read back. */
export function writeBounded(path: string, value: ExactJson): void {
  const bytes = utf8(prettyText(value));
  if (bytes.length > hookLimits.maxInputBytes) throw new Failure<HooksCode>("recovery_state_capacity");
  replacePrivateFile(path, bytes, { reserved: ".recovery-" });
}
