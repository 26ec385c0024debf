// A keyed call makes its thing once: the same key and request reads what the first call made, another request under
// the key is refused. Runs inside the caller's write, so that key and thing are committed together.
import { type KeyedRequest, lookUpKey, rememberKey } from "./idempotency.ts";
import type { Database } from "./store.ts";
import { refuse, type ToolResult } from "./tool.ts";

export interface KeyedSteps {
  readonly wallMs: number;
  /** Makes the thing and gives its id, or refuses; a refusal leaves the key free. */
  readonly make: () => string | ToolResult;
  readonly show: (resource: string, replayed: boolean) => ToolResult;
}

/** Conflict, replay, or the making. */
export function makeOnce(db: Database, keyed: KeyedRequest, steps: KeyedSteps): ToolResult {
  const seen = lookUpKey(db, keyed);
  if (seen.seen === "conflict")
    return refuse("communication_idempotency_conflict", "The key was used for another request.", {
      recovery_kind: "reobserve",
    });
  if (seen.seen === "replay") return steps.show(seen.resource, true);
  const made = steps.make();
  if (typeof made !== "string") return made;
  rememberKey(db, keyed, { resource: made, wallMs: steps.wallMs });
  return steps.show(made, false);
}
