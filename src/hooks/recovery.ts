// The operator's work on associations: see what the server knows about a root, add a binding, list them, forget one.
// Every write holds the state lock, looks at the registry again under it, and replaces the file whole.
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";
import type { Asker } from "./handoff.ts";
import { projectAt, sessionsOf } from "./inventory.ts";
import { hookLimits } from "./limits.ts";
import type { ExactJson } from "./python-json.ts";
import {
  type Binding,
  bindingValue,
  loadRegistry,
  parseRegistry,
  type Registry,
  registryValue,
  sameValue,
  writeRegistry,
} from "./registry-file.ts";
import { canonicalFolder, identityOf } from "./roots.ts";
import { requireSameRegistry, underStateLock } from "./snapshot.ts";

type Result = Readonly<Record<string, ExactJson>>;

export interface RecoveryOptions {
  readonly registryPath: string;
  readonly ask?: Asker;
}

export interface Association {
  readonly projectRoot: string;
  readonly session: string;
  readonly entryRoots: readonly string[];
  readonly localSession: string;
}

/** The Project of exactly this root and its Sessions. Writes nothing and chooses nothing. */
export async function discover(projectRoot: string, options: RecoveryOptions): Promise<Result> {
  return await inventoryOf(loadRegistry(options.registryPath), projectRoot, options);
}

async function inventoryOf(registry: Registry, projectRoot: string, options: RecoveryOptions) {
  const root = canonicalFolder(projectRoot);
  const asker = options.ask === undefined ? {} : { ask: options.ask };
  const project = await projectAt(registry, root, asker);
  const sessions = await sessionsOf(registry, project, asker);
  return { project, project_root: root, sessions, writes: false };
}

/** Adds one binding for a Session the server lists for exactly this root. */
export async function associate(wanted: Association, options: RecoveryOptions): Promise<Result> {
  const registry = loadRegistry(options.registryPath);
  const found = await inventoryOf(registry, wanted.projectRoot, options);
  if (!found.sessions.some((row) => row.session_id === wanted.session)) {
    throw new Failure<HooksCode>("session_not_in_exact_project");
  }
  const binding: Binding = {
    project: found.project,
    projectRoot: found.project_root,
    projectIdentity: identityOf(found.project_root),
    workflowSessionId: wanted.session,
    localSessionId: wanted.localSession,
    entryRoots: wanted.entryRoots.map((path) => {
      const root = canonicalFolder(path);
      return { path: root, identity: identityOf(root) };
    }),
  };
  const result = { project: binding.project, session_id: binding.workflowSessionId };
  if (registry.bindings.some((one) => sameValue(bindingValue(one), bindingValue(binding)))) {
    return { status: "already_associated", ...result };
  }
  if (registry.bindings.length >= hookLimits.maxBindings) throw new Failure<HooksCode>("association_capacity");
  replaceBindings(options.registryPath, registry, [...registry.bindings, binding]);
  return { status: "associated", ...result };
}

/** The bindings as they stand, each with the number that `forget` takes. */
export function listBindings(options: RecoveryOptions): Result {
  const registry = loadRegistry(options.registryPath);
  return { bindings: registry.bindings.map((one, i) => ({ number: i + 1, ...(bindingValue(one) as object) })) };
}

/** Removes every binding of a Session, or only those of one conversation. The Session itself is not touched. */
export function forget(
  wanted: { readonly session: string; readonly localSession: string | undefined },
  options: RecoveryOptions,
): Result {
  const registry = loadRegistry(options.registryPath);
  const kept = registry.bindings.filter(
    (one) =>
      one.workflowSessionId !== wanted.session ||
      (wanted.localSession !== undefined && one.localSessionId !== wanted.localSession),
  );
  const removed = registry.bindings.length - kept.length;
  if (removed === 0) throw new Failure<HooksCode>("association_not_found");
  replaceBindings(options.registryPath, registry, kept);
  return { status: "forgotten", removed, session_id: wanted.session };
}

function replaceBindings(path: string, used: Registry, bindings: readonly Binding[]): void {
  const next = { ...used, bindings };
  parseRegistry(registryValue(next), path);
  underStateLock(used.stateDir, () => {
    requireSameRegistry(path, used);
    writeRegistry(path, next);
  });
}
