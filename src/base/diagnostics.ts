// Turns the stderr of a program into counts of known trouble, so that its text never has to be kept or shown.
// A piece is at most 8192 bytes up to a newline; each piece adds at most one to a category.

/** Category and the text, in lower case, whose presence means it. */
export const diagnosticNeedles = {
  unknown_config_field: "unknown field",
  http_401: "401",
  permission_denied: "permission denied",
  unauthorized: "unauthorized",
  failed_to_refresh_token: "failed to refresh token",
  invalid_grant: "invalid_grant",
  refresh_token_invalidated: "refresh_token_invalidated",
  refresh_token_expired: "refresh_token_expired",
  refresh_token_reused: "refresh_token_reused",
} as const;

export type DiagnosticCategory = keyof typeof diagnosticNeedles;
export type DiagnosticCounts = Partial<Record<DiagnosticCategory, number>>;

export const diagnosticCategories = Object.keys(diagnosticNeedles) as DiagnosticCategory[];

const maxPieceBytes = 8_192;
const newline = 0x0a;

/** The categories that one piece of text shows, in any letter case. */
export function categoriesIn(piece: string): DiagnosticCategory[] {
  const text = piece.toLowerCase();
  return diagnosticCategories.filter((category) => text.includes(diagnosticNeedles[category]));
}

/** The counts of a whole text, cut in the same pieces as a live stream. */
export function countCategories(text: string): DiagnosticCounts {
  const counter = new DiagnosticCounter();
  counter.push(new TextEncoder().encode(text));
  return counter.counts();
}

/** Counts a live stream; holds at most one piece of it. */
export class DiagnosticCounter {
  bytesSeen = 0;
  readonly #counts = new Map<DiagnosticCategory, number>();
  readonly #piece = Buffer.alloc(maxPieceBytes);
  #filled = 0;

  /** Takes the next bytes and returns the categories met for the first time, counting what a piece shows so far. */
  push(chunk: Uint8Array): DiagnosticCategory[] {
    const before = new Set(this.#counts.keys());
    this.bytesSeen += chunk.byteLength;
    let from = 0;
    while (from < chunk.byteLength) {
      const room = chunk.subarray(from, from + maxPieceBytes - this.#filled);
      const end = room.indexOf(newline);
      const taken = end < 0 ? room : room.subarray(0, end + 1);
      this.#piece.set(taken, this.#filled);
      this.#filled += taken.byteLength;
      from += taken.byteLength;
      if (end >= 0 || this.#filled === maxPieceBytes) this.#close();
    }
    return [...this.#counts.keys()].filter((category) => !before.has(category));
  }

  /** Counts, with an unfinished last piece taken as it stands. */
  counts(): DiagnosticCounts {
    this.#close();
    return Object.fromEntries(this.#counts);
  }

  #close(): void {
    if (this.#filled === 0) return;
    const piece = this.#piece.toString("utf8", 0, this.#filled);
    this.#filled = 0;
    for (const category of categoriesIn(piece)) this.#counts.set(category, (this.#counts.get(category) ?? 0) + 1);
  }
}
