// Append-only private notes of decisions: who, what kind, which answer. Never a body, an id of a message or a secret.
import { closeSync } from "node:fs";
import { writeWhole } from "../base/output.ts";
import { openPrivateLog } from "../base/private-files.ts";
import { gatewayLimits } from "./limits.ts";
import { rightFor } from "./method-table.ts";

export interface Decision {
  readonly event: "connected" | "closed" | "upgrade_refused" | "message_refused" | "operator" | "upstream";
  readonly client?: string;
  readonly reason?: string;
  readonly method?: string;
}

export class AuditLog {
  readonly #fd: number;
  #bytes = 0;

  constructor(path: string) {
    this.#fd = openPrivateLog(path);
  }

  note(decision: Decision): void {
    if (this.#bytes > gatewayLimits.maxAuditBytes) return;
    const method =
      decision.method === undefined ? {} : { method: rightFor(decision.method) ? decision.method : "other" };
    const line = `${JSON.stringify({ at: new Date().toISOString(), ...decision, ...method })}\n`;
    this.#bytes += line.length;
    writeWhole(this.#fd, this.#bytes > gatewayLimits.maxAuditBytes ? '{"event":"audit_limit"}\n' : line);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
