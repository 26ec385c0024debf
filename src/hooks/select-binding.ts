// Which association a conversation in a folder has. By identity and containment, never by age or order; several
// answers are a question for the user, not a choice of ours.
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";
import type { Binding, Registry } from "./registry-file.ts";
import { hasRepositoryBetween, identityOf, isInside, sameIdentity } from "./roots.ts";

/** All bindings that match equally well; `cwd` is canonical. */
export function matchingBindings(registry: Registry, place: { conversation: string; cwd: string }): Binding[] {
  const matches = registry.bindings.filter(
    (binding) =>
      (binding.localSessionId === "" || binding.localSessionId === place.conversation) && contains(binding, place.cwd),
  );
  const exact = matches.filter((binding) => binding.localSessionId === place.conversation);
  return exact.length > 0 ? exact : matches;
}

function contains(binding: Binding, cwd: string): boolean {
  for (const entry of binding.entryRoots) {
    if (!isInside(cwd, entry.path)) continue;
    if (!sameIdentity(identityOf(entry.path), entry.identity)) throw new Failure<HooksCode>("entry_root_replaced");
    // A repository inside another is work of its own and inherits nothing.
    if (!hasRepositoryBetween(cwd, entry.path)) return true;
  }
  return false;
}
