// One way to declare a command: words to typed options, one call, one exit number.
// citty's parser does the reading; `strict-args.ts` refuses first what citty would let pass.
// Usage:
//   export default defineStrictCommand({
//     meta: { name: "relay", description: "…", examples: ["proctor relay --audit F -- CMD"] },
//     args: { audit: { type: "string", description: "…", valueHint: "F", required: true },
//             json: { type: "boolean", description: "…" },
//             fault: { type: "string", repeatable: true, description: "…" },     // → string[]
//             dir: { type: "positional", description: "…", required: true } },
//     rest: "required",                       // "none" (default) | "optional" | "required": the words after --
//     run({ args, rest }) { return 0; },      // the exit number; Failures become one sentence on stderr
//   });
// A command with words of its own has `words: { serve: () => import("./gateway-serve.ts"), … }` instead of run.

export interface ArgumentDefinition {
  readonly type: "string" | "boolean" | "positional";
  readonly description: string;
  readonly valueHint?: string;
  readonly required?: boolean;
  /** The flag may be given more than once; its value is then always a list. Said in `--help`. */
  readonly repeatable?: boolean;
  /** A positional that takes every remaining word. */
  readonly many?: boolean;
  /** The only values taken. */
  readonly choices?: readonly string[];
  /** Shown in `--help`; the default itself is the room's. */
  readonly defaultText?: string;
  /** Left out of `--help` and completions. */
  readonly hidden?: boolean;
}

export type ArgumentTable = Readonly<Record<string, ArgumentDefinition>>;

type ValueOf<D extends ArgumentDefinition> = D extends { type: "boolean" }
  ? boolean
  : D extends { repeatable: true } | { many: true }
    ? string[]
    : D extends { required: true }
      ? string
      : string | undefined;

export type ArgumentValues<T extends ArgumentTable> = { readonly [K in keyof T]: ValueOf<T[K]> };

export interface CommandMeta {
  readonly name: string;
  readonly description: string;
  readonly examples: readonly string[];
  /** More paragraphs for `--help`. */
  readonly notes?: readonly string[];
  readonly hidden?: boolean;
}

export interface StrictCommand {
  readonly meta: CommandMeta;
  readonly args: ArgumentTable;
  readonly rest: "none" | "optional" | "required";
  readonly words?: Readonly<Record<string, () => Promise<{ readonly default: StrictCommand }>>>;
  readonly run?: (input: { args: Record<string, unknown>; rest: string[] }) => number | Promise<number>;
}

interface Declaration<T extends ArgumentTable> {
  readonly meta: CommandMeta;
  readonly args?: T;
  readonly rest?: "none" | "optional" | "required";
  readonly words?: StrictCommand["words"];
  readonly run?: (input: { args: ArgumentValues<T>; rest: string[] }) => number | Promise<number>;
}

/** Declare a command; the shape of `args` types what `run` receives. */
export function defineStrictCommand<const T extends ArgumentTable = Record<string, never>>(
  declaration: Declaration<T>,
): StrictCommand {
  return {
    meta: declaration.meta,
    args: declaration.args ?? {},
    rest: declaration.rest ?? "none",
    ...(declaration.words === undefined ? {} : { words: declaration.words }),
    ...(declaration.run === undefined ? {} : { run: declaration.run as StrictCommand["run"] & {} }),
  };
}
