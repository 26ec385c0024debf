// Writes the audit file: private, appended to, each record whole and on disk before the caller goes on. It notes
// nothing more once the file is full, and says so in the file.

import { closeSync, constants, fchmodSync, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { toHex } from "../base/bytes.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { Failure } from "../base/failure.ts";
import { systemRandom } from "../base/random.ts";
import type { AuditEvent } from "../contract/audit.ts";
import { chainedLine, chainStart } from "../contract/audit-chain.ts";
import type { RelayCode } from "./codes.ts";
import { relayLimits } from "./limits.ts";

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;

export class AuditLog {
  /** Bytes that were in the file when it was opened. */
  readonly afterBytes: number;
  readonly #fd: number;
  readonly #segment = toHex(systemRandom(8));
  readonly #clock: Clock;
  #chain: string;
  #seq = 0;
  #full = false;

  /** Fails with `relay_audit_unwritable` on a link, a foreign or shared file, and `relay_audit_full`. */
  constructor(path: string, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#fd = openAudit(path);
    const size = fstatSync(this.#fd).size;
    if (size > relayLimits.auditBytes - relayLimits.auditReserveBytes) {
      closeSync(this.#fd);
      throw new Failure<RelayCode>("relay_audit_full");
    }
    this.afterBytes = size;
    // The descriptor only writes; what came before is read by name and cut at the size that was seen.
    const before = size === 0 ? new Uint8Array(0) : readFileSync(path).subarray(0, size);
    this.#chain = chainStart(before);
  }

  /** Appends one record and syncs it; fails with `relay_audit_unwritable`. */
  note(event: AuditEvent): void {
    const last = event.event === "adapter_process_exited";
    if (this.#full && !last) return;
    const room = relayLimits.auditBytes - (last ? 0 : relayLimits.auditReserveBytes);
    if (!this.#append(event, room) && !last) {
      this.#full = true;
      this.#append({ event: "audit_limit" }, relayLimits.auditBytes);
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #append(event: AuditEvent, room: number): boolean {
    const { event: name, ...fields } = event;
    const head = `{"event":"${name}","time_ns":${this.#timeNs()},"segment":"${this.#segment}","seq":${this.#seq + 1}`;
    const rest = JSON.stringify(fields).slice(1);
    const { line, chain } = chainedLine(this.#chain, rest === "}" ? `${head}}` : `${head},${rest}`);
    const bytes = Buffer.from(`${line}\n`);
    try {
      if (fstatSync(this.#fd).size + bytes.byteLength > room) return false;
      // One write of an appending descriptor: two relays on one file never tear each other's lines.
      if (writeSync(this.#fd, bytes) !== bytes.byteLength) throw new Error("short write");
      fsyncSync(this.#fd);
    } catch (cause) {
      throw new Failure<RelayCode>("relay_audit_unwritable", { cause });
    }
    this.#chain = chain;
    this.#seq += 1;
    return true;
  }

  #timeNs(): string {
    return String(BigInt(Math.round(this.#clock.wallMs() * 1_000)) * 1_000n);
  }
}

function openAudit(path: string): number {
  let fd: number | undefined;
  try {
    // Without O_NONBLOCK a planted pipe would hold the open until somebody reads it.
    fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
    const stat = fstatSync(fd);
    const owned = process.geteuid === undefined || stat.uid === process.geteuid();
    if (!stat.isFile() || !owned || stat.nlink !== 1) throw new Error("not a private file");
    if ((stat.mode & 0o077) !== 0) {
      // An empty file is ours to close to others; one with content may already have been read or written by them.
      if (stat.size > 0) throw new Error("shared file");
      fchmodSync(fd, 0o600);
    }
    return fd;
  } catch (cause) {
    if (fd !== undefined) closeSync(fd);
    throw new Failure<RelayCode>("relay_audit_unwritable", { cause });
  }
}
