// Runs the relay from source with an adapter written as one Bun script, and keeps what came out.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holdsWithin } from "../../src/base/clock.ts";
import { selfCommand } from "../../src/base/self.ts";
import { type AuditReading, readAudit } from "../../src/contract/audit.ts";

export const generous = { withinMs: 50_000, everyMs: 20 };

export interface RelayHandle {
  readonly child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly auditPath: string;
  send(bytes: string | Uint8Array): Promise<void>;
  closeInput(): Promise<void>;
  /** Everything so far; complete once `ended` has settled. */
  output(): Buffer;
  until(probe: (output: Buffer) => boolean): Promise<void>;
  readonly ended: Promise<{ readonly status: number; readonly stdout: Buffer; readonly stderr: string }>;
  audit(): AuditReading;
  auditText(): string;
}

/** An adapter program from its source text. */
export function scriptAdapter(folder: string, source: string): string[] {
  const path = join(folder, "adapter.ts");
  writeFileSync(path, source);
  return [process.execPath, path];
}

/** The two ways in which the relay moves bytes. */
export const carriers = process.platform === "linux" ? (["poll", "streams"] as const) : (["streams"] as const);
type CarrierName = (typeof carriers)[number];

/** The words that start the relay with one of them. */
export function relayWords(auditPath: string, adapter: readonly string[], carrier: CarrierName = "poll"): string[] {
  if (carrier === "streams")
    return [process.execPath, `${import.meta.dir}/relay-over-streams.ts`, auditPath, ...adapter];
  const { command, args } = selfCommand(["relay", "--audit", auditPath, "--", ...adapter]);
  return [command, ...args];
}

export function startRelay(folder: string, adapter: readonly string[], carrier?: CarrierName): RelayHandle {
  const auditPath = join(folder, "audit.jsonl");
  const child = Bun.spawn(relayWords(auditPath, adapter, carrier), {
    cwd: folder,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: folder, TMPDIR: folder },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const parts: Uint8Array[] = [];
  const output = (): Buffer => Buffer.concat(parts);
  const reading = (async () => {
    for await (const part of child.stdout) parts.push(part);
  })();
  const stderr = new Response(child.stderr).text();
  return {
    child,
    auditPath,
    async send(bytes) {
      child.stdin.write(bytes);
      await child.stdin.flush();
    },
    async closeInput() {
      await child.stdin.end();
    },
    output,
    async until(probe) {
      if (!(await holdsWithin(() => probe(output()), generous))) {
        throw new Error(`not seen; output so far: ${output().toString("latin1").slice(0, 300)}`);
      }
    },
    ended: (async () => {
      await child.exited;
      await reading;
      const status = child.exitCode ?? -1;
      return { status, stdout: output(), stderr: await stderr };
    })(),
    audit: () => readAudit(readFileSync(auditPath)),
    auditText: () => readFileSync(auditPath, "utf8"),
  };
}

export function promptFrame(id = 1, text = "private words"): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method: "session/prompt", params: { sessionId: "s-1", prompt: [{ type: "text", text }] } })}\n`;
}
