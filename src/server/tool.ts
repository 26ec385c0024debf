// What a tool is: one name, one closed input schema, the rights it needs, where it may be seen, and one function.
// A tool never sees HTTP or MCP; a tool that refuses returns a value, a broken promise throws.
import type { Clock } from "../base/clock.ts";
import type { RandomBytes } from "../base/random.ts";
import type { z } from "../contract/schema.ts";
import type { Scope } from "../contract/scopes.ts";
import type { ServerLog } from "./log.ts";
import type { Principal } from "./principal.ts";
import type { RunnerRegistry } from "./runner-registry.ts";
import type { Store } from "./store.ts";

export interface ToolContext {
  readonly principal: Principal;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly runners: RunnerRegistry;
  readonly log: ServerLog;
  /** Aborted when the server is stopping or the caller has gone: long polls answer at once with what they have. */
  readonly signal: AbortSignal;
  /** Counted against the bound of concurrent long polls; call the returned function when the wait is over. */
  readonly enterLongPoll: () => (() => void) | null;
  /** Fault points of embedded parts: returns at once unless this process was told to pause there. */
  readonly pause: (point: string) => Promise<void>;
  readonly limits: { readonly observationsPerSession: number };
  /** The private folder below the data folder. */
  readonly privateFolder: string;
}

export type ToolOutput = Readonly<Record<string, unknown>>;
export type ToolResult =
  | { readonly success: true; readonly output: ToolOutput }
  | { readonly success: false; readonly output: ToolOutput | null; readonly error: string };

export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Built on first use; always a strict object. */
  readonly input: () => z.ZodType;
  readonly scopes: readonly Scope[];
  /** direct: listed and callable by name over MCP. gateway: through call_runtime_tool. hidden: REST only. */
  readonly visibility: "direct" | "gateway" | "hidden";
  /** Only the bootstrap credential may call it. */
  readonly bootstrapOnly?: boolean;
  readonly annotations?: ToolAnnotations;
  readonly run: (context: ToolContext, args: never) => Promise<ToolResult>;
}

interface Declaration<S extends z.ZodType> extends Omit<Tool, "input" | "run"> {
  readonly input: () => S;
  readonly run: (context: ToolContext, args: z.infer<S>) => Promise<ToolResult>;
}

/** Declare a tool; the input schema types the arguments of `run` and is built once, on first use. */
export function defineTool<S extends z.ZodType>(declaration: Declaration<S>): Tool {
  let built: S | undefined;
  const input = () => {
    built ??= declaration.input();
    return built;
  };
  return { ...declaration, input, run: declaration.run as Tool["run"] };
}

export function succeed(output: ToolOutput): ToolResult {
  return { success: true, output };
}

/** A refusal: `errorKind` is lower snake case; `more` holds recovery_kind, state_changed and the tool's own keys. */
export function refuse(errorKind: string, error: string, more: ToolOutput = {}): ToolResult {
  return { success: false, error, output: { error_kind: errorKind, state_changed: false, ...more } };
}
