// One finding of `proctor doctor`: fixed words and bounded numbers, no path, name or value of this host, so that the
// whole answer can be pasted anywhere. What is not ok says what to do next.
import type { Environment } from "../base/environment.ts";

export interface Finding {
  readonly check: string;
  readonly outcome: "ok" | "note" | "problem";
  readonly says: string;
  readonly next?: string;
}

/** What the checks look at; nothing is read from the process itself. */
export interface DoctorHost {
  readonly environment: Environment;
  /** Null where the environment names no absolute home. */
  readonly home: string | null;
  readonly state: string | null;
  /** A private folder of this run, on the file system of TMPDIR. */
  readonly temp: string;
}

export function fine(check: string, says: string): Finding {
  return { check, outcome: "ok", says };
}

export function note(check: string, says: string, next: string): Finding {
  return { check, outcome: "note", says, next };
}

export function problem(check: string, says: string, next: string): Finding {
  return { check, outcome: "problem", says, next };
}
