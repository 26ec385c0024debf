// Fault points: a process that was told to stop at a named point says so on the inherited control descriptor and
// waits there until it is ended. Without that descriptor the environment name does nothing.
import { fstatSync } from "node:fs";
import type { Environment } from "../base/environment.ts";
import { writeWhole } from "../base/output.ts";

/** The function that embedded parts call at their points. */
export function pauseAt(environment: Environment): (point: string) => Promise<void> {
  const wanted = environment.PROCTOR_PAUSE_AT;
  const descriptor = controlDescriptor(environment.PROCTOR_CONTROL_FD);
  if (wanted === undefined || descriptor === null) return async () => undefined;
  return async (point) => {
    if (point !== wanted) return;
    writeWhole(descriptor, `paused ${point}\n`);
    await new Promise<never>(() => undefined);
  };
}

function controlDescriptor(text: string | undefined): number | null {
  if (text === undefined || !/^[3-9]$/.test(text)) return null;
  try {
    const facts = fstatSync(Number(text));
    return facts.isFIFO() || facts.isSocket() ? Number(text) : null;
  } catch {
    return null; // Nothing was inherited under that number, so there is nobody to tell and no pause.
  }
}
