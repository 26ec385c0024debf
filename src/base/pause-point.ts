// Fault points: a process that was told to stop at a named point says so on the inherited control descriptor and
// waits there for a byte, or until it is ended. Without that descriptor the environment name does nothing.
import { fstatSync, read } from "node:fs";
import type { Environment } from "./environment.ts";
import { writeWhole } from "./output.ts";

/** What an embedded part calls at a point of its own; it returns at once unless that very point was asked for. */
export type Pause = (point: string) => Promise<void>;

/** Reads PROCTOR_PAUSE_AT and PROCTOR_CONTROL_FD (product §3); both have to be there and the descriptor a channel. */
export function pauseAt(environment: Environment): Pause {
  const wanted = environment.PROCTOR_PAUSE_AT;
  const descriptor = controlDescriptor(environment.PROCTOR_CONTROL_FD);
  if (wanted === undefined || descriptor === null) return async () => undefined;
  let paused = false;
  return async (point) => {
    // Once: whoever comes by after it went on is not held again.
    if (paused || point !== wanted) return;
    paused = true;
    writeWhole(descriptor, `paused ${point}\n`);
    await new Promise<void>((resolve) => {
      read(descriptor, new Uint8Array(1), 0, 1, null, (error, got) => {
        // A one-way channel can never answer: then the process waits until it is ended.
        if (error === null && got === 1) resolve();
      });
    });
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
