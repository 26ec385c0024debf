// What was built: the version, and the commit and target that build.ts writes in. From source they say "source".
declare const PROCTOR_COMMIT: string | undefined;
declare const PROCTOR_TARGET: string | undefined;

export const version = "0.1.0";

export interface BuildFacts {
  readonly version: string;
  readonly commit: string;
  readonly bun: string;
  readonly target: string;
}

/** The facts of this build; strings only, no path of the building machine. */
export function buildFacts(): BuildFacts {
  return {
    version,
    commit: typeof PROCTOR_COMMIT === "string" ? PROCTOR_COMMIT : "source",
    bun: Bun.version,
    target: typeof PROCTOR_TARGET === "string" ? PROCTOR_TARGET : `${process.platform}-${process.arch}`,
  };
}
