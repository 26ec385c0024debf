// Writes everything or says so: partial writes are continued, a full pipe is waited for, a reader that went away
// is an answer and not a crash.
import { writeSync } from "node:fs";
import { utf8 } from "./bytes.ts";
import { systemCodeOf } from "./failure.ts";

const pauseMs = 2;

/** True when all of it was written; false when the reader is gone. Other faults are thrown. */
export function writeWhole(fd: number, data: string | Uint8Array): boolean {
  const bytes = typeof data === "string" ? utf8(data) : data;
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(fd, bytes, at, bytes.length - at);
    } catch (error) {
      const code = systemCodeOf(error);
      if (code === "EPIPE" || code === "EBADF") return false;
      if (code !== "EAGAIN" && code !== "EINTR") throw error;
      Bun.sleepSync(pauseMs);
    }
  }
  return true;
}
