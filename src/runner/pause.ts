// Fault points: told to stop at a named point, the runner says so on the inherited control descriptor and waits there
// for a byte. Without that descriptor the environment name does nothing.
import { fstatSync, read } from "node:fs";
import type { Environment } from "../base/environment.ts";
import { writeWhole } from "../base/output.ts";

export type Pause = (point: string) => Promise<void>;

export function pauseAt(environment: Environment): Pause {
  const wanted = environment.PROCTOR_PAUSE_AT;
  const text = environment.PROCTOR_CONTROL_FD;
  if (wanted === undefined || text === undefined || !/^[3-9]$/.test(text) || !isChannel(Number(text)))
    return async () => undefined;
  const descriptor = Number(text);
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

function isChannel(descriptor: number): boolean {
  try {
    const facts = fstatSync(descriptor);
    return facts.isFIFO() || facts.isSocket();
  } catch {
    return false; // Nothing was inherited under that number, so there is nobody to tell.
  }
}
