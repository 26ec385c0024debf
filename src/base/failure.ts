// A broken promise is a Failure with one fixed code. The code is all that ever leaves a door;
// causes stay inside the process and nobody prints them.

/** Thrown when something that was promised cannot be kept. `code` comes from a room's `codes.ts`. */
export class Failure<Code extends string = string> extends Error {
  override readonly name = "Failure";
  readonly code: Code;

  constructor(code: Code, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}

/** The code of anything thrown; what is no Failure is a fault of ours and is called `internal`. */
export function codeOf(error: unknown): string {
  return error instanceof Failure ? error.code : "internal";
}

/** The operating system's own error name (`ENOENT`, …), or undefined. */
export function systemCodeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
